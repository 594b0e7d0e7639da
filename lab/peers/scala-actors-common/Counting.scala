import lab.{Asker, Lab, Payloads, Place, Roll, Seen, Senders, Tally}

import scala.actors.Actor
import scala.actors.Actor._

case class Count(amount: Long, sender: Int, number: Long, payload: Int)
case object GetAndReset
case class Ask(number: Long, payload: Int)
case class Next(node: Actor)
case class Token(hop: Long, value: Int)
case object Get
case class Hello(payload: Int)
case class Here(number: Long, told: Long, payload: Int)

/** An actor that handles one message after the other. What lies between two messages differs:
  * `Style` is either the combinator `loop` or a call of itself.
  */
trait Handling extends Actor with Style {
  val handler: PartialFunction[Any, Unit]
}

class Counter extends Handling {
  private val tally = new Tally
  val handler: PartialFunction[Any, Unit] = {
    case Count(amount, sender, number, payload) => tally.count(amount, sender, number, payload)
    case GetAndReset => reply(tally.getAndReset())
  }
}

class Answerer extends Handling {
  private val seen = new Seen(1)
  val handler: PartialFunction[Any, Unit] = {
    case Ask(number, payload) =>
      seen.accept(0, number, payload)
      reply(Asker.answer(number, payload))
    case Get => reply(seen)
  }
}

class Node(place: Place, ended: Actor) extends Handling {
  private var next: Actor = _
  val handler: PartialFunction[Any, Unit] = {
    case Token(hop, value) =>
      val changed = place.pass(hop, value)
      if (place.isLast(hop + 1)) ended ! changed else next ! Token(hop + 1, changed)
    case Next(node) => next = node
    case Get => reply(place)
  }
}

class Idler(number: Long, roll: Actor) extends Handling {
  private var told = 0L
  val handler: PartialFunction[Any, Unit] = {
    case Hello(payload) =>
      told += 1
      roll ! Here(number, told, payload)
  }
}

class RollCall(ended: Actor) extends Handling {
  private val roll = new Roll
  val handler: PartialFunction[Any, Unit] = {
    case Here(number, told, payload) =>
      if (roll.enter(number, told, payload)) ended ! roll.account
  }
}
