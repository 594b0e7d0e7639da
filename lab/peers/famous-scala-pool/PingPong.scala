import java.io.{DataInputStream, EOFException}
import java.net.{InetAddress, ServerSocket, Socket}
import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import scala.concurrent.duration.Duration
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Using

/** The Scala side of a comparison of 2016, put right: a pool of 100 threads, one for each
  * connection, since each of them blocks; four bytes are read to their end; and the end of a
  * connection is the end of its loop.
  */
object PingPong {
  private val Connections = 100
  private val ping = "Ping".getBytes
  private val pong = "Pong".getBytes
  private implicit val pool: ExecutionContext = {
    val queue = new LinkedBlockingQueue[Runnable](2 * Connections)
    val threads = new ThreadPoolExecutor(Connections, Connections, 0, TimeUnit.SECONDS, queue)
    // A thread takes long to begin while others are at work, and connections would wait for theirs.
    threads.prestartAllCoreThreads()
    ExecutionContext.fromExecutor(threads)
  }

  def main(arguments: Array[String]): Unit =
    if (arguments.contains("server")) server() else client()

  private def server(): Unit = {
    val listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress)
    Lab.readyUntilInputEnds(listener.getLocalPort)
    while (true) {
      val s = listener.accept()
      s.setTcpNoDelay(true)
      Future(Using.resource(s)(answer)).onComplete(_ => Lab.over())
    }
  }

  private def answer(s: Socket): Unit = {
    val in = new DataInputStream(s.getInputStream)
    val out = s.getOutputStream
    val buffer = new Array[Byte](4)
    try
      while (true) {
        in.readFully(buffer)
        Lab.bytesRead.addAndGet(4)
        out.write(pong)
        Lab.bytesSent.addAndGet(4)
      }
    catch { case _: EOFException => }
  }

  private def client(): Unit = {
    val messages = Lab.order("MESSAGES")
    val sockets = List.fill(Lab.order("CONNECTIONS")) {
      val s = new Socket(InetAddress.getLoopbackAddress, Lab.order("PORT"))
      s.setTcpNoDelay(true)
      s
    }
    Lab.readyAndGo()
    val wrong = Future.traverse(sockets)(s => Future(Using.resource(s)(ask(_, messages))))
    Lab.clientDone(sockets.size.toLong * messages, Await.result(wrong, Duration.Inf).sum)
    sys.exit(0)
  }

  /** The round trips of one connection: how many replies were wrong. */
  private def ask(s: Socket, messages: Int): Long = {
    val in = new DataInputStream(s.getInputStream)
    val out = s.getOutputStream
    val buffer = new Array[Byte](4)
    var wrong = 0L
    for (_ <- 0 until messages) {
      out.write(ping)
      Lab.bytesSent.addAndGet(4)
      in.readFully(buffer)
      Lab.bytesRead.addAndGet(4)
      if (!buffer.sameElements(pong)) wrong += 1
    }
    wrong
  }
}
