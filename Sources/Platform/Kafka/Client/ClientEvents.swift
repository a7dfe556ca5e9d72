internal import CRdKafka
internal import Glibc
internal import Telemetry

/// A receiver of the library's events about a client as a whole: log lines, errors, statistics, throttling.
///
/// The library writes log lines on its own threads, so `writeLog` uses constants only. All other functions
/// run on the thread that polls the client.
final class ClientEvents {
    /// The interval of the library's statistics. Each time they are some 100 KB of text for each client. To
    /// read them is a good part of the work of an idle installation.
    static let statisticsIntervalMilliseconds = 10_000

    /// Immutable, and safe on every thread.
    let log: Log
    /// Counts only for a transactional producer.
    let impliedAcknowledgements = ImpliedAcknowledgements()
    // These two are used only on the polling thread.
    let groupEvents = GroupEvents()
    let metrics: ClientMetrics
    /// Whether the library has reported, since this was last taken, that no broker is connected.
    private var hasLostAllBrokers = false

    init(log: Log, metrics: ClientMetrics) {
        self.log = log
        self.metrics = metrics
    }

    /// Registers the callbacks. This object must outlive the client.
    func attach(to configuration: borrowing ClientConfiguration) {
        let pointer = unsafe configuration.borrowedPointer
        unsafe rd_kafka_conf_set_opaque(pointer, Unmanaged.passUnretained(self).toOpaque())
        unsafe rd_kafka_conf_set_log_cb(pointer, onLog)
        unsafe rd_kafka_conf_set_error_cb(pointer, onError)
        unsafe rd_kafka_conf_set_stats_cb(pointer, onStatistics)
        unsafe rd_kafka_conf_set_throttle_cb(pointer, onThrottle)
    }

    /// Logs a line of the library, whose level is a syslog level. Lost connections have the level of an error
    /// there, but heal by themselves.
    fileprivate func writeLog(level: Int32, facility: String, text: String) {
        switch level {
        // Emergency, alert, critical.
        case ...2: log.error("kafka client", .field("facility", facility), .field("text", text))
        // Error, warning.
        case 3...4: log.warning("kafka client", .field("facility", facility), .field("text", text))
        default: log.debug("kafka client", .field("facility", facility), .field("text", text))
        }
    }

    /// Counts and logs an error. A fatal error means that the client must be replaced.
    func reportError(_ code: KafkaErrorCode, text: String, isFatal: Bool) {
        metrics.countError(code, isFatal: isFatal)
        if code == .allBrokersDown { hasLostAllBrokers = true }
        if code.isAccessRefused {
            log.error(
                "kafka refuses access to this client", .field("code", code.name), .field("text", text),
                .field("remedy", code.remedy))
        } else if isFatal {
            log.warning(
                "kafka client must be rebuilt", .field("code", code.name), .field("text", text))
        } else {
            log.warning("kafka trouble", .field("code", code.name), .field("text", text))
        }
    }

    /// Returns whether the library has reported the loss of all brokers since the last call. A single broker
    /// that closes an idle connection counts as such a loss.
    func takeLossOfAllBrokers() -> Bool {
        defer { hasLostAllBrokers = false }
        return hasLostAllBrokers
    }

    fileprivate func updateStatistics(json: UnsafeRawBufferPointer) {
        unsafe metrics.update(with: ClientStatistics(json: Span(_unsafeBytes: json)))
    }

    /// Handles an event that a producer has polled from its queue. Such a client makes no callbacks for
    /// events.
    func handle(_ event: OpaquePointer) {
        switch unsafe rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_ERROR:
            unsafe reportError(
                KafkaErrorCode(rd_kafka_event_error(event)),
                text: String(cString: rd_kafka_event_error_string(event)),
                isFatal: rd_kafka_event_error_is_fatal(event) != 0)
        case RD_KAFKA_EVENT_STATS:
            guard let json = unsafe rd_kafka_event_stats(event) else { return }
            unsafe updateStatistics(json: UnsafeRawBufferPointer(start: json, count: strlen(json)))
        default: break
        }
    }

    fileprivate func reportThrottling(milliseconds: Int32) {
        metrics.setThrottle(milliseconds: Int(milliseconds))
        if milliseconds > 0 {
            log.warning("kafka throttles this client", .field("milliseconds", milliseconds))
        }
    }
}

// The library's callbacks. Each recovers the `ClientEvents` from the opaque pointer and calls one function of
// it.

private func clientEvents(from opaque: UnsafeMutableRawPointer?) -> ClientEvents? {
    unsafe opaque.map { unsafe Unmanaged<ClientEvents>.fromOpaque($0).takeUnretainedValue() }
}

private func onLog(
    _ client: OpaquePointer?, _ level: Int32, _ facility: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?
) {
    guard let client = unsafe client, let text = unsafe text else { return }
    unsafe clientEvents(from: rd_kafka_opaque(client))?.writeLog(
        level: level, facility: unsafe facility.map { unsafe String(cString: $0) } ?? "",
        text: unsafe String(cString: text))
}

private func onError(
    _ client: OpaquePointer?, _ code: Int32, _ text: UnsafePointer<CChar>?, _ opaque: UnsafeMutableRawPointer?
) {
    let code = KafkaErrorCode(rawValue: code)
    let text = unsafe text.map { unsafe String(cString: $0) } ?? code.text
    unsafe clientEvents(from: opaque)?.reportError(code, text: text, isFatal: code == .fatal)
}

private func onStatistics(
    _ client: OpaquePointer?, _ json: UnsafeMutablePointer<CChar>?, _ length: Int,
    _ opaque: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe clientEvents(from: opaque)?.updateStatistics(
        json: UnsafeRawBufferPointer(start: json, count: length))
    return 0
}

private func onThrottle(
    _ client: OpaquePointer?, _ broker: UnsafePointer<CChar>?, _ id: Int32, _ milliseconds: Int32,
    _ opaque: UnsafeMutableRawPointer?
) {
    unsafe clientEvents(from: opaque)?.reportThrottling(milliseconds: milliseconds)
}
