internal import CLinux
internal import CRdKafka

/// The timer slack of the library's threads: the delay that Linux may add to a timer, so that the processor
/// wakes less often.
///
/// A client's main thread waits whole milliseconds, rounded down. Then it asks the clock without a pause
/// until its timer is due (librdkafka 2.0.2). That costs half a millisecond of a processor, twice a second,
/// in each of the 32 clients of a whole installation. With slack the wait usually ends after the timer is due, so
/// the thread need not ask the clock. The kernel still ends the wait early if it is awake for another reason, and
/// that is rarer with more slack. With 1.1 ms of slack these threads cost 0.6 % of a core, with 100 ms 0.2 %. An
/// operation in the thread's queue still wakes it at once.
enum LibraryThreadTimers {
    /// The delay that a main thread's timers may have, in nanoseconds.
    enum TimerSlack: Int {
        /// Transactions retry after five milliseconds, and the caller waits for that.
        case transactionalProducer = 1_100_000
        /// For heartbeats every second, and for leader and coordinator lookups every quarter and half
        /// second.
        case otherClients = 100_000_000
    }

    /// Linux's default. A thread inherits the slack of the thread that made it, and the main thread makes one
    /// for each broker. There a large slack would delay records that linger for five milliseconds.
    private static let defaultSlackNanoseconds: UInt = 50_000

    /// Registers an interceptor that runs at the start of each thread of the client.
    static func attach(to configuration: borrowing ClientConfiguration, slack: TimerSlack) {
        unsafe rd_kafka_conf_interceptor_add_on_new(
            configuration.borrowedPointer, "threads",
            { client, _, slack, _, _ in
                unsafe rd_kafka_interceptor_add_on_thread_start(
                    client, "threads",
                    { _, threadType, _, slack in
                        let isMainThread = threadType == RD_KAFKA_THREAD_MAIN
                        _ = linux_set_timer_slack(
                            isMainThread
                                ? UInt(bitPattern: slack) : LibraryThreadTimers.defaultSlackNanoseconds)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, slack)
            }, UnsafeMutableRawPointer(bitPattern: slack.rawValue))
    }
}
