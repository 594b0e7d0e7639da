import lab.{Asker, Lab, Payloads, Place, Seen, Senders, Tally}

import scala.actors.Actor
import scala.actors.Actor._
import scala.collection.JavaConverters._
import scala.collection.parallel.ForkJoinTaskSupport
import scala.concurrent.forkjoin.ForkJoinPool

/** Counter with Scala's own actors, on their default scheduler. Senders are the elements of a
  * parallel range, with a thread for each. Mailboxes have no bound.
  */
object Main {
  def main(arguments: Array[String]) {
    Lab.cell match {
      case "ask" => ask()
      case "bounce" | "ring" => ring()
      case "spawn" => spawn()
      case _ => count()
    }
  }

  private def started[A <: Actor](actor: A): A = {
    actor.start()
    actor
  }

  private def count() {
    val amount = Lab.order("AMOUNT").toLong
    val counters = Array.fill(Lab.actors)(started(new Counter))
    val senders = (0 until Lab.order("SENDERS")).par
    senders.tasksupport = new ForkJoinTaskSupport(new ForkJoinPool(senders.size))
    val send = new Senders.Send {
      def send(actor: Int, sender: Int, number: Long, payload: Int) {
        counters(actor) ! Count(amount, sender, number, payload)
      }
    }
    Lab.readyAndGo()
    senders.foreach(Senders.run(_, send))
    val tallies = counters.toList.map(counter => (counter !? GetAndReset).asInstanceOf[Tally])
    Lab.finish(Tally.account(tallies.asJava))
  }

  private def ask() {
    val answerer = started(new Answerer)
    val asker = new Asker
    Lab.readyAndGo()
    while (asker.hasNext)
      asker.hold((answerer !? Ask(asker.number, asker.payload)).asInstanceOf[Long])
    Lab.finish(asker.account((answerer !? Get).asInstanceOf[Seen]))
  }

  private def ring() {
    val nodes = Place.all.asScala.map(place => started(new Node(place, self)))
    for ((node, next) <- nodes zip (nodes.tail :+ nodes.head)) node ! Next(next)
    Lab.readyAndGo()
    nodes.head ! Token(0, Lab.order("SEED"))
    val value = receive { case value: Int => value }
    val places = nodes.map(node => (node !? Get).asInstanceOf[Place])
    Lab.finish(Place.account(value, places.asJava))
  }

  private def spawn() {
    Lab.readyAndGo()
    val roll = started(new RollCall(self))
    val all = Array.tabulate(Lab.order("MESSAGES"))(number => started(new Idler(number, roll)))
    val payloads = new Payloads(Lab.order("SEED"), 0)
    for (one <- all) one ! Hello(payloads.next())
    Lab.finish(receive { case account: String => account })
  }
}
