internal import Payloads
internal import Sends
internal import Telemetry

// The checks of dates and options, each of which concerns one field.

extension SendValidation {
    /// Checks the dates of the send. `checkPayload` checks the dates in the content.
    mutating func checkDates() {
        if let endDate = draft.endDate { checkEndDate(endDate) }
        if let deadline = draft.deadline {
            checkDate(
                deadline, at: "deadline", secondsAheadMax: SendValidator.deadlineSecondsMax,
                limitText: "20 hours")
        }
        if let expiration = draft.expiration { checkExpiration(expiration) }
    }

    private mutating func checkEndDate(_ endDate: Int64) {
        if event != .start {
            add(
                code: "not_allowed", at: fields.endDate,
                message: "is allowed on a start only; send an end instead")
        } else {
            checkDate(
                endDate, at: fields.endDate, secondsAheadMax: SendValidator.endDateSecondsMax,
                limitText: "30 days")
        }
    }

    private mutating func checkExpiration(_ expiration: Int64) {
        if expiration != 0, expiration <= dueSeconds {
            add(
                code: "date_passed", at: "expiration",
                message: "has passed; give a later time, or 0 for one attempt")
        }
        if expiration > PayloadRules.secondsMax { addNotSeconds(at: "expiration") }
    }

    /// Checks that a date comes after the send, and not later than the limit.
    private mutating func checkDate(
        _ date: Int64, at field: String, secondsAheadMax: Int64, limitText: String
    ) {
        if date > PayloadRules.secondsMax {
            addNotSeconds(at: field)
        } else if date <= dueSeconds {
            add(code: "date_passed", at: field, message: "has passed; give a later time")
        } else if date > dueSeconds + secondsAheadMax {
            add(code: "out_of_range", at: field, message: "is more than \(limitText) ahead")
        }
    }

    private mutating func addNotSeconds(at field: String) {
        add(
            code: "not_seconds", at: field,
            message: "must be in seconds since 1970; this value looks like milliseconds")
    }

    /// Checks the fields that are allowed for some events only.
    mutating func checkOptions() {
        if event == .start {
            if draft.ifVersion != nil {
                add(
                    code: "not_allowed", at: "ifVersion",
                    message: "is allowed on an update or an end only; a start joins the group's newest state")
            }
        } else {
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
