import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/** The lab's contract, for the Scala participants: orders, READY, GO, accounts. What counts bytes
  * stands beside the program that is looked at and changes nothing that it does.
  */
object Lab {
  val bytesRead, bytesSent = new AtomicLong
  private val closed = new AtomicInteger

  def order(name: String): Int = sys.env(name).toInt

  def readyAndGo(): Unit = {
    println("READY")
    val line = scala.io.StdIn.readLine()
    if (line != "GO") sys.error(s"$line where GO was due")
  }

  /** READY with a port; from now on the program ends when its input does. */
  def readyUntilInputEnds(port: Int): Unit = {
    val watcher = new Thread(() => {
      while (System.in.read() >= 0) {}
      Runtime.getRuntime.halt(0)
    })
    watcher.setDaemon(true)
    watcher.start()
    println(s"READY $port")
  }

  /** A connection of a server is over; after the last one comes the account. */
  def over(): Unit =
    if (closed.incrementAndGet() == order("CONNECTIONS"))
      println(
        s"""{"requests": ${bytesRead.get / 4}, "bytes_read": $bytesRead, "bytes_sent": $bytesSent}"""
      )

  def clientDone(replies: Long, wrong: Long): Unit =
    println(
      s"""{"replies": $replies, "wrong": $wrong, "bytes_read": $bytesRead, "bytes_sent": $bytesSent}"""
    )
}
