internal import CRdKafka
internal import Glibc
internal import Telemetry

/// What the library tells about a client as a whole: log lines, errors, statistics, throttling.
/// `logged` comes on the library's threads and touches constants alone, everything else comes on the thread that polls.
final class ClientEvents {
    /// How often the library makes its statistics: text of some 100 KB for each client, which an installation that
    /// has nothing to do spends a good part of its time on.
    static let statisticsMilliseconds = 10_000

    /// Immutable and safe from every thread.
    let log: Log
    /// Counted for a transactional producer alone.
    let implied = ImpliedAcknowledgements()
    // Of the polling thread alone.
    let group = GroupEvents()
    let metrics: ClientMetrics

    init(log: Log, metrics: ClientMetrics) {
        self.log = log
        self.metrics = metrics
    }

    func attach(to configuration: borrowing Configuration) {
        let pointer = unsafe configuration.unfinished
        unsafe rd_kafka_conf_set_opaque(pointer, Unmanaged.passUnretained(self).toOpaque())
        unsafe rd_kafka_conf_set_log_cb(pointer, onLog)
        unsafe rd_kafka_conf_set_error_cb(pointer, onError)
        unsafe rd_kafka_conf_set_stats_cb(pointer, onStatistics)
        unsafe rd_kafka_conf_set_throttle_cb(pointer, onThrottle)
    }

    /// Lost connections and the like heal by themselves, whatever syslog level they come with.
    fileprivate func logged(level: Int32, facility: String, text: String) {
        switch level {
        case ...2: log.error("kafka client", .field("facility", facility), .field("text", text))
        case 3...4: log.warning("kafka client", .field("facility", facility), .field("text", text))
        default: log.debug("kafka client", .field("facility", facility), .field("text", text))
        }
    }

    func failed(_ code: ErrorCode, _ text: String, fatal: Bool) {
        metrics.error(code, fatal: fatal)
        if code.isAccessRefused {
            log.error(
                "kafka refuses this client", .field("code", code.name), .field("text", text),
                .field("remedy", code.remedy))
        } else if fatal {
            log.warning(
                "kafka client must be rebuilt", .field("code", code.name), .field("text", text))
        } else {
            log.warning("kafka trouble", .field("code", code.name), .field("text", text))
        }
    }

    fileprivate func statistics(_ json: UnsafeRawBufferPointer) {
        unsafe metrics.update(Statistics(json: Span(_unsafeBytes: json)))
    }

    /// What a queue that is polled for events brings in place of the callbacks.
    func hear(_ event: OpaquePointer) {
        switch unsafe rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_ERROR:
            unsafe failed(
                ErrorCode(rd_kafka_event_error(event)), String(cString: rd_kafka_event_error_string(event)),
                fatal: rd_kafka_event_error_is_fatal(event) != 0)
        case RD_KAFKA_EVENT_STATS:
            guard let json = unsafe rd_kafka_event_stats(event) else { return }
            unsafe statistics(UnsafeRawBufferPointer(start: json, count: strlen(json)))
        default: break
        }
    }

    fileprivate func throttled(milliseconds: Int32) {
        metrics.throttled(milliseconds: Int(milliseconds))
        if milliseconds > 0 {
            log.warning("kafka throttles this client", .field("milliseconds", milliseconds))
        }
    }
}

extension ErrorCode {
    /// As Kafka's documentation names it.
    package var name: String {
        unsafe String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(rawValue: rawValue)))
    }
}

// The library's callbacks: recover the object, call one method. The object outlives the client.

private func events(_ opaque: UnsafeMutableRawPointer?) -> ClientEvents? {
    unsafe opaque.map { unsafe Unmanaged<ClientEvents>.fromOpaque($0).takeUnretainedValue() }
}

private func onLog(
    _ client: OpaquePointer?, _ level: Int32, _ facility: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?
) {
    guard let client = unsafe client, let text = unsafe text else { return }
    unsafe events(rd_kafka_opaque(client))?.logged(
        level: level, facility: unsafe facility.map { unsafe String(cString: $0) } ?? "",
        text: unsafe String(cString: text))
}

private func onError(
    _ client: OpaquePointer?, _ code: Int32, _ text: UnsafePointer<CChar>?, _ opaque: UnsafeMutableRawPointer?
) {
    let code = ErrorCode(rawValue: code)
    let reason = unsafe text.map { unsafe String(cString: $0) } ?? code.text
    unsafe events(opaque)?.failed(code, reason, fatal: code == .fatal)
}

private func onStatistics(
    _ client: OpaquePointer?, _ json: UnsafeMutablePointer<CChar>?, _ length: Int,
    _ opaque: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe events(opaque)?.statistics(UnsafeRawBufferPointer(start: json, count: length))
    return 0
}

private func onThrottle(
    _ client: OpaquePointer?, _ broker: UnsafePointer<CChar>?, _ id: Int32, _ milliseconds: Int32,
    _ opaque: UnsafeMutableRawPointer?
) {
    unsafe events(opaque)?.throttled(milliseconds: milliseconds)
}
