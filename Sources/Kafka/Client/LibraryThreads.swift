internal import CLinux
internal import CRdKafka

/// The library's threads.
///
/// A client's main thread waits whole milliseconds and rounds down, and then asks the clock without a pause until its
/// timer is due: half a millisecond of a processor each time, twice a second, in each of the 32 clients of a whole
/// installation (librdkafka 2.0.2). A wait that may end later mostly ends behind the timer. The kernel ends it early
/// where it is awake for something else, the less often the longer the wait may take: with 1.1 ms those threads cost
/// 0.6 % of a core, with 100 ms 0.2 %. What is put into the thread's queue wakes it at once, as before.
enum LibraryThreads {
    /// How much later than asked a main thread's timers may fire, in nanoseconds.
    enum TimerSlack: Int {
        /// Transactions try again after five milliseconds, which the caller waits for.
        case transactions = 1_100_000
        /// Heartbeats, every three seconds, and looks for leaders and coordinators, every quarter and half second.
        case others = 100_000_000
    }

    /// Linux's own. A thread begins with that of the one which made it, and the main thread makes one for each broker
    /// that the cluster tells of: there it would hold up records that linger for five milliseconds.
    private static let usualNanoseconds: UInt = 50_000

    static func attach(to configuration: borrowing Configuration, _ slack: TimerSlack) {
        unsafe rd_kafka_conf_interceptor_add_on_new(
            configuration.unfinished, "threads",
            { client, _, slack, _, _ in
                unsafe rd_kafka_interceptor_add_on_thread_start(
                    client, "threads",
                    { _, kind, _, slack in
                        let isMain = kind == RD_KAFKA_THREAD_MAIN
                        _ = linux_set_timer_slack(
                            isMain ? UInt(bitPattern: slack) : LibraryThreads.usualNanoseconds)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, slack)
            }, UnsafeMutableRawPointer(bitPattern: slack.rawValue))
    }
}
