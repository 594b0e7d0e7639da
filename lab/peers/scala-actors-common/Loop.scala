import scala.actors.Actor
import scala.actors.Actor._

/** `loop` and `react`, as the tutorial of Scala's actors has it. */
trait Style { this: Actor with Handling =>
  def act() {
    loop {
      react(handler)
    }
  }
}
