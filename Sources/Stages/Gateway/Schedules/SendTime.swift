internal import JSON
internal import Payloads
internal import Schedules
internal import Telemetry

/// The time of a send for later, and how late it may be.
struct SendTime: Equatable {
    /// The largest distance from now: 366 days.
    static let distanceSecondsMax = 366 * 86_400
    /// The largest allowed lateness: a day.
    static let latenessSecondsMax = 86_400

    /// The time at which the send is due: a time in milliseconds since 1970, or milliseconds after the command.
    let dueTime: Schedule.DueTime
    /// The allowed lateness in milliseconds. A send that would leave later expires.
    var latenessMillisecondsMax = Schedule.latenessMillisecondsDefault

    /// Returns the due time for the checks of the request. The scheduler counts an offset from the broker's
    /// timestamp of the command, so the real due time differs a little.
    func approximateDueTime(now: WallTime) -> WallTime {
        switch dueTime {
        case .offset(let milliseconds): WallTime(milliseconds: now.milliseconds + milliseconds)
        case .at(let time): WallTime(milliseconds: time)
        }
    }
}

/// The readers of times in requests. After a problem they return a placeholder.
extension JSONValue {
    /// Reads the time of a send: nil for `"now"`, otherwise a date, or `{"offset": 60}` for seconds from now by the
    /// server's clock.
    func sendTime(now: WallTime) -> SendTime? {
        if isText("now") { return nil }
        switch kind {
        case .object:
            let object = object()
            let offset = object["offset"].dueOffset()
            object.reportUnknownFields()
            return SendTime(dueTime: offset)
        case .string, .integer: return SendTime(dueTime: .at(futureMilliseconds(now: now)))
        default:
            report(
                "must be \"now\", {\"offset\": seconds from now}, or a date in ISO 8601 (UTC) or seconds since 1970",
                as: .wrongType)
            return nil
        }
    }

    /// Reads seconds from now, with or without a fraction.
    func dueOffset() -> Schedule.DueTime {
        let seconds = double()
        guard (0...Double(SendTime.distanceSecondsMax)).contains(seconds) else {
            report("must be from 0 to \(SendTime.distanceSecondsMax) seconds", as: .outOfRange)
            return .offset(0)
        }
        return .offset(Int64((seconds * 1000).rounded()))
    }

    /// Reads a date that has not passed, and returns it in milliseconds since 1970.
    func futureMilliseconds(now: WallTime) -> Int64 {
        let seconds = date(now: now)
        // `date` returns 0 after it has reported a problem. Only an integer can be 0 without a problem.
        if kind != .integer, seconds == 0 { return 0 }
        let allowedSeconds = now.seconds...now.seconds + Int64(SendTime.distanceSecondsMax)
        if kind == .integer, seconds > PayloadRules.secondsMax {
            report("must be in seconds since 1970; this value looks like milliseconds", as: .outOfRange)
        } else if !allowedSeconds.contains(seconds) {
            report("must be from now to 366 days ahead", as: .outOfRange)
        }
        // Without the limit, the product could overflow for a date that was just reported.
        return min(seconds, PayloadRules.secondsMax) * 1000
    }

    /// Reads seconds and returns milliseconds.
    func latenessMilliseconds() -> Int64 { Int64(int(in: 1...SendTime.latenessSecondsMax)) * 1000 }
}
