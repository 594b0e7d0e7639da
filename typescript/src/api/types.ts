/** The types of an actor's interface, as a program sees them. */

/** The items that a method answers with. */
export interface Stream<T> extends AsyncIterableIterator<T> {
  /** Leaves the stream: its producer is told, and stops. */
  return(value?: unknown): Promise<IteratorResult<T>>;
}

export interface CallOptions {
  /** Gives the call up: it fails with `Cancelled`. What has not begun then is not begun. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds for the answer; the call fails with `Timeout` after that. `Infinity` is no limit; a call
   * with 0 or less is not sent. A stream lasts as long as it is read.
   */
  timeout?: number | undefined;
  /** Bytes of items that a stream may have under way: more than 0, 64 KiB without it, and 4 MiB at most. */
  window?: number | undefined;
}

type Method = (...all: any[]) => unknown;
type IsStream<F> = F extends (...all: any[]) => infer R ? (0 extends 1 & R ? false : R extends Stream<any> ? true : false) : false;

/** Tells every method: the promise is kept when the call has its place in the order. */
export type Tell<T> = {
  readonly [K in keyof T as T[K] extends Method ? K : never]: T[K] extends (...all: infer A) => unknown
    ? (...all: A) => Promise<void>
    : never;
};

/** Asks every method that answers with one value. */
export type Ask<T> = {
  readonly [K in keyof T as T[K] extends Method ? (IsStream<T[K]> extends true ? never : K) : never]: T[K] extends (
    ...all: infer A
  ) => infer R
    ? (...all: A) => Promise<Awaited<R>>
    : never;
};

/** The methods that answer with a stream. */
export type Streams<T> = {
  readonly [K in keyof T as T[K] extends Method ? (IsStream<T[K]> extends true ? K : never) : never]: T[K] extends (
    ...all: infer A
  ) => infer R
    ? (...all: A) => R
    : never;
};

/** The methods that answer with a reference to an actor with the interface `U`, called without waiting. */
export type Piped<T, U> = 0 extends 1 & T
  ? Readonly<Record<string, (...all: any[]) => Actor<U>>>
  : {
      readonly [K in keyof T as T[K] extends Method ? (IsStream<T[K]> extends true ? never : K) : never]: T[K] extends (
        ...all: infer A
      ) => unknown
        ? (...all: A) => Actor<U>
        : never;
    };

/** What a program knows of an actor in advance, as `wigwag describe --ts` prints it. */
export interface Schema<T> {
  readonly hash: bigint;
  /** The answer of the actor when it is asked for its description. */
  readonly description: readonly unknown[];
  /** Never there: it holds the type. */
  readonly of?: T;
}

type Any = Readonly<Record<string, (...all: any[]) => any>>;

/** A reference to an actor of the node. Calls through it are handled in their order. */
export interface Actor<T = any> {
  /** The name of the actor's type. */
  readonly type: string;
  readonly tell: 0 extends 1 & T ? Any : Tell<T>;
  readonly ask: 0 extends 1 & T ? Any : Ask<T>;
  readonly stream: 0 extends 1 & T ? Any : Streams<T>;
  /** The same actor, called with these options. */
  with(options: CallOptions): Actor<T>;
  /** Gives the reference back. Calls that were accepted are handled. */
  release(): void;
  [Symbol.dispose](): void;
}
