internal import CLinux
internal import CRdKafka

private let timerSlackNanoseconds: UInt = 1_100_000

/// The library's threads.
///
/// A client's main thread waits whole milliseconds and rounds down, and then asks the clock without a pause until its
/// timer is due: half a millisecond of a processor each time, twice a second, in each of the 28 clients of a whole
/// installation (librdkafka 2.0.2). A wait that ends a millisecond late ends behind the timer. What is put into the
/// thread's queue wakes it at once, as before.
enum LibraryThreads {
    static func attach(to configuration: borrowing Configuration) {
        unsafe rd_kafka_conf_interceptor_add_on_new(
            configuration.unfinished, "threads",
            { client, _, _, _, _ in
                unsafe rd_kafka_interceptor_add_on_thread_start(
                    client, "threads",
                    { _, kind, _, _ in
                        if kind == RD_KAFKA_THREAD_MAIN { _ = linux_set_timer_slack(timerSlackNanoseconds) }
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, nil)
            }, nil)
    }
}
