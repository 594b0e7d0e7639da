import scala.actors.Actor
import scala.actors.Actor._

/** `react` whose last step is to call itself: it never returns, so the stack does not grow. */
trait Style { this: Actor with Handling =>
  def act() {
    react(handler andThen { _ => act() })
  }
}
