/** A table that is sorted by the column whose head is pressed. On a narrow screen each row is a card. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { whole } from "../data/format.js";

export interface Column<Row> {
  name: string;
  /** What the column is sorted by. */
  value: (row: Row) => string | number;
  cell: (row: Row) => ComponentChildren;
  /** `name` heads a card, `wide` has a line of its own, `number` ends at the right. */
  kind: "name" | "text" | "wide" | "number";
}

interface Properties<Row> {
  id: string;
  title: string;
  columns: Column<Row>[];
  rows: Row[];
  /** Rows without a name of their own, which stay at the end. */
  isSum: (row: Row) => boolean;
  keyOf: (row: Row) => string | number;
  /** All rows, of which the search has left some. */
  count: number;
  /** What they stand for: more than they are if the last one is a sum. */
  total: number;
  empty: string;
}

interface Order {
  column: number;
  isRising: boolean;
}

export function Table<Row>({ id, title, columns, rows, isSum, keyOf, count, total, empty }: Properties<Row>) {
  const [order, setOrder] = useState<Order>({ column: 0, isRising: true });
  const press = (column: number) => {
    // Of numbers the largest are looked for.
    const first = columns[column]!.kind !== "number" && columns[column]!.kind !== "wide";
    setOrder({ column, isRising: order.column === column ? !order.isRising : first });
  };
  const shown = sorted(rows, columns[order.column]!, order.isRising, isSum);
  return (
    <section class="card" aria-labelledby={`${id}-title`}>
      <div class="head">
        <h2 id={`${id}-title`}>{title} <span class="count">{rows.length === count ? whole(total) : `${whole(rows.length)} of ${whole(total)}`}</span></h2>
        {rows.length > 1 && (
          <label class="order">
            Sort by{" "}
            <select value={order.column} onChange={(event) => press(Number(event.currentTarget.value))}>
              {columns.map((column, at) => <option key={column.name} value={at}>{column.name}</option>)}
            </select>
          </label>
        )}
      </div>
      {rows.length === 0 ? (
        <p class="empty">{count === 0 ? empty : "Nothing has what is searched for."}</p>
      ) : (
        <div class="scroll">
          <table id={id} role="table">
            <thead role="rowgroup">
              <tr role="row">
                {columns.map((column, at) => (
                  <Head key={column.name} column={column} order={order.column === at ? order : undefined} onPress={() => press(at)} />
                ))}
              </tr>
            </thead>
            <tbody role="rowgroup">
              {shown.map((row) => (
                <tr role="row" key={keyOf(row)}>
                  {columns.map((column) => (
                    <td role="cell" key={column.name} class={column.kind} data-label={column.name}><span>{column.cell(row)}</span></td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface HeadProperties<Row> {
  column: Column<Row>;
  /** The order, if it is that of the column. */
  order: Order | undefined;
  onPress: () => void;
}

function Head<Row>({ column, order, onPress }: HeadProperties<Row>) {
  const direction = order && (order.isRising ? "ascending" : "descending");
  return (
    <th role="columnheader" scope="col" class={column.kind} aria-sort={direction ?? "none"}>
      <button type="button" onClick={onPress}>
        {column.name}
        <span aria-hidden="true" class="arrow">{order && (order.isRising ? "▲" : "▼")}</span>
      </button>
    </th>
  );
}

function sorted<Row>(rows: Row[], column: Column<Row>, isRising: boolean, isSum: (row: Row) => boolean): Row[] {
  const sign = isRising ? 1 : -1;
  return [...rows].sort((one, other) => {
    if (isSum(one) !== isSum(other)) return isSum(one) ? 1 : -1;
    const [a, b] = [column.value(one), column.value(other)];
    if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b), "en", { numeric: true });
    return sign * (a - b);
  });
}
