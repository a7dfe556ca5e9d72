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

    let dueTime: Schedule.DueTime
    /// The allowed lateness in milliseconds. A send that would leave later expires.
    var latenessMillisecondsMax = Schedule.latenessMillisecondsDefault

    /// Returns the due time, for the checks of the request. The scheduler counts an offset from the broker's
    /// timestamp of the command, so the real due time differs a little.
    func approximateDueTime(now: WallTime) -> WallTime {
        switch dueTime {
        case .offset(let milliseconds): WallTime(milliseconds: now.milliseconds + milliseconds)
        case .at(let time): WallTime(milliseconds: time)
        }
    }
}

extension JSONValue {
    /// Reads a time: nil for `"now"`, otherwise a date, or `{"offset": 60}` for seconds from now by the
    /// server's clock.
    func sendTime(now: WallTime) -> SendTime? {
        if isText("now") { return nil }
        switch kind {
        case .object:
            let object = object()
            let offset = object["offset"].dueOffset()
            object.reportUnknownFields()
            return SendTime(dueTime: offset)
        case .string, .integer: return SendTime(dueTime: futureDate(now: now))
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

    /// Reads a date that has not passed.
    func futureDate(now: WallTime) -> Schedule.DueTime {
        let seconds = date(now: now)
        // The problem is already reported.
        if kind != .integer, seconds == 0 { return .at(0) }
        if kind == .integer, seconds > PayloadRules.secondsMax {
            report("must be in seconds since 1970; this value looks like milliseconds", as: .outOfRange)
        } else if !(now.seconds...now.seconds + Int64(SendTime.distanceSecondsMax)).contains(seconds) {
            report("must be from now to 366 days ahead", as: .outOfRange)
        }
        return .at(min(seconds, PayloadRules.secondsMax) * 1000)
    }

    /// Reads seconds and returns milliseconds.
    func latenessMilliseconds() -> Int64 { Int64(int(in: 1...SendTime.latenessSecondsMax)) * 1000 }
}
