internal import JSON
internal import LiveActivity
internal import Telemetry

/// When a send is to go that does not go at once.
struct SendTime: Equatable {
    /// How far ahead it may lie.
    static let secondsMax = 366 * 86_400
    /// How late it may be let go at most: a day.
    static let latenessSecondsMax = 86_400

    let when: Schedule.When
    /// How late it may go, in milliseconds; what is later expires.
    var latenessMax = Schedule.latenessUsual

    /// When that is, by the clock that the request is judged by. An offset counts in the end from the stamp that
    /// the cluster gives the order.
    func due(now: WallTime) -> WallTime {
        switch when {
        case .offset(let milliseconds): WallTime(milliseconds: now.milliseconds + milliseconds)
        case .at(let time): WallTime(milliseconds: time)
        }
    }
}

extension JSONValue {
    /// `"now"` is nil; else a date, or seconds from now by the server's clock.
    func sendTime(now: WallTime) -> SendTime? {
        if isText("now") { return nil }
        switch kind {
        case .object:
            let object = object()
            let offset = object["offset"].offset()
            object.refuseUnknownFields()
            return SendTime(when: offset)
        case .string, .integer: return SendTime(when: time(now: now))
        default:
            report(
                "must be \"now\", {\"offset\": seconds from now}, or a date: ISO 8601 in UTC, or seconds since 1970",
                as: .wrongType)
            return nil
        }
    }

    /// Seconds from now, with or without a fraction.
    func offset() -> Schedule.When {
        let seconds = double()
        let most = Double(SendTime.secondsMax)
        guard (0...most).contains(seconds) else {
            report("must be from 0 to \(SendTime.secondsMax) seconds", as: .outOfRange)
            return .offset(0)
        }
        return .offset(Int64((seconds * 1000).rounded()))
    }

    /// A date that has not passed.
    func time(now: WallTime) -> Schedule.When {
        let seconds = date(now: now)
        // Told already.
        if kind != .integer, seconds == 0 { return .at(0) }
        if kind == .integer, seconds > PayloadRules.secondsMax {
            report("must be in seconds since 1970; it looks like milliseconds", as: .outOfRange)
        } else if !(now.seconds...now.seconds + Int64(SendTime.secondsMax)).contains(seconds) {
            report("must be from now to 366 days ahead", as: .outOfRange)
        }
        return .at(min(seconds, PayloadRules.secondsMax) * 1000)
    }

    /// Seconds, as milliseconds.
    func latenessMax() -> Int64 { Int64(int(in: 1...SendTime.latenessSecondsMax)) * 1000 }
}
