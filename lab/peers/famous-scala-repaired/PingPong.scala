import java.net.{InetAddress, ServerSocket, Socket}

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration
import scala.concurrent.{Await, Future}

/** The Scala side of a comparison of 2016 as it was repaired: the buffer has four bytes now, and
  * all else is as in `famous-scala`. Its replies are right; but the global pool has as many threads
  * as there are processors, so that few of its connections are at work at a time, and it answers
  * the end of a connection as if it were a request. The lab must say so.
  */
object PingPong {
  private val ping = "Ping".getBytes
  private val pong = "Pong".getBytes

  def main(arguments: Array[String]): Unit =
    if (arguments.contains("server")) server() else client()

  private def server(): Unit = {
    val listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress)
    Lab.readyUntilInputEnds(listener.getLocalPort)
    while (true) {
      val s = listener.accept()
      Future {
        val in = s.getInputStream
        val out = s.getOutputStream
        val buffer = new Array[Byte](4)
        while (s.isConnected) {
          val read = in.read(buffer)
          Lab.bytesRead.addAndGet(read.max(0))
          out.write(pong)
          Lab.bytesSent.addAndGet(4)
        }
      }.onComplete { _ => s.close(); Lab.over() }
    }
  }

  private def client(): Unit = {
    val messages = Lab.order("MESSAGES")
    val sockets = List.fill(Lab.order("CONNECTIONS")) {
      val s = new Socket(InetAddress.getLoopbackAddress, Lab.order("PORT"))
      s.setTcpNoDelay(true)
      s
    }
    Lab.readyAndGo()
    val all = sockets.map { s =>
      Future {
        val in = s.getInputStream
        val out = s.getOutputStream
        val buffer = new Array[Byte](4)
        var n = 0
        while (n < messages) {
          out.write(ping)
          Lab.bytesSent.addAndGet(4)
          val read = in.read(buffer)
          Lab.bytesRead.addAndGet(read.max(0))
          n += 1
        }
        s.close()
        n
      }
    }
    Lab.clientDone(Await.result(Future.sequence(all), Duration.Inf).map(_.toLong).sum, 0)
  }
}
