internal import Payloads
internal import Sends
internal import Telemetry

// The checks of single fields.

extension SendValidation {
    mutating func checkDates() {
        if let end = draft.endDate {
            if event != .start {
                add(
                    code: "not_allowed", at: fields.endDate,
                    message: "is allowed on a start only; send an end instead")
            } else {
                checkAhead(end, at: fields.endDate, within: SendValidator.endDateSecondsMax, days: "30 days")
            }
        }
        if let deadline = draft.deadline {
            checkAhead(deadline, at: "deadline", within: SendValidator.deadlineSecondsMax, days: "20 hours")
        }
        if let expiration = draft.expiration, expiration != 0, expiration <= dueSeconds {
            add(
                code: "date_passed", at: "expiration",
                message: "has passed; give a later time, or 0 for one attempt")
        }
        if let expiration = draft.expiration, expiration > PayloadRules.secondsMax {
            add(
                code: "not_seconds", at: "expiration",
                message: "must be in seconds since 1970; this value looks like milliseconds")
        }
    }

    /// Checks that a date comes after the send, and not later than the limit.
    private mutating func checkAhead(_ date: Int64, at field: String, within limit: Int64, days: String) {
        let now = dueSeconds
        if date > PayloadRules.secondsMax {
            add(
                code: "not_seconds", at: field,
                message: "must be in seconds since 1970; this value looks like milliseconds")
        } else if date <= now {
            add(code: "date_passed", at: field, message: "has passed; give a later time")
        } else if date > now + limit {
            add(code: "out_of_range", at: field, message: "is more than \(days) ahead")
        }
    }

    /// Checks the fields that are allowed for some events only.
    mutating func checkOptions() {
        if event != .start {
            if draft.forcesRestart {
                add(code: "not_allowed", at: "restart", message: "is allowed on a start only; omit it")
            }
            if draft.unknownStartPolicy != .skip {
                add(code: "not_allowed", at: "onUnknownStart", message: "is allowed on a start only; omit it")
            }
        }
        if !draft.isConflatable, event != .update {
            add(
                code: "not_allowed", at: "conflate",
                message: "is allowed on an update only; starts and ends are never conflated")
        }
    }
}
