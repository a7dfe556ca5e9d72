internal import Payloads

/// The effect of a push to an update token, or to the channel of an activity: it updates or ends the activity,
/// unless the phone refuses it. Each refusal is silent: the screen does not change, although APNs answered 200.
/// Times are milliseconds since 1970, but timestamps of payloads are seconds.
extension Phones {
    /// Applies an update or END and returns the effect.
    /// - Parameter isThrottled: whether the push has waited for the update budget and needs no budget now.
    func applyUpdate(_ push: AcceptedPush, toActivity index: Int, at time: Int64, isThrottled: Bool = false)
        -> PushEffect
    {
        advance(activity: index, to: time)
        let payload = push.payload
        guard activities[index].state != .free else { return .noLongerShown }
        guard let event = payload.event else { return .unknownEvent }
        guard event != .start else { return .wrongEventForToken }
        guard activities[index].isRunning else { return .alreadyEnded }
        guard let timestamp = payload.timestamp else { return .timestampMissing }
        let shownTimestamp = activities[index].timestamp
        if timestamp < shownTimestamp { return .olderTimestamp }
        if timestamp == shownTimestamp, !settings.acceptsEqualTimestamps { return .sameTimestamp }
        if let refusal = refusal(of: payload, event: event, activity: index) { return refusal }
        // Only a push with priority 10 uses the budget.
        let needsBudget = !isThrottled && push.priority == 10
        if needsBudget, !takeUpdateBudget(ofPhone: Int(activities[index].phone), at: time) {
            return throttle(push, forActivity: index, at: time)
        }
        show(payload, as: event, timestamp: timestamp, onActivity: index, at: time)
        return event == .end ? .ended : .shown
    }

    /// Returns a refusal if the content state is missing or cannot be decoded.
    private func refusal(of payload: PushPayload, event: PushEvent, activity index: Int) -> PushEffect? {
        guard let content = payload.contentState else {
            // An END without a state leaves the last state on the screen.
            return event == .end ? nil : .contentStateMissing
        }
        let activity = activities[index]
        let number = typeNumber(app: phones[Int(activity.phone)].app, type: activity.type)
        return decoder.decodes(content, as: type(of: activity), typeNumber: number)
            ? nil : .contentStateNotDecoded
    }

    /// Shows an update, or ends the activity with the last state of the END.
    private func show(
        _ payload: PushPayload, as event: PushEvent, timestamp: Int64, onActivity index: Int, at time: Int64
    ) {
        if let content = payload.contentState {
            let number = contents.retain(content)
            contents.release(number: activities[index].content)
            activities[index].content = number
        }
        activities[index].timestamp = timestamp
        activities[index].changedAt = time
        activities[index].state = .active
        activities[index].staleAt = payload.staleDate.map(milliseconds(fromSeconds:)) ?? .max
        if event == .end {
            let latest = time + settings.endedShownMilliseconds
            let requested = payload.dismissalDate.map(milliseconds(fromSeconds:)) ?? latest
            let dismissal = max(requested, time)
            end(activity: index, dismissingAt: min(dismissal, latest), at: time)
            // A dismissal date in the past removes the activity now.
            advance(activity: index, to: time)
        }
        schedule(activity: index)
    }

    // MARK: Budget

    /// Takes one update from the phone's budget. Returns false if it is used up.
    private func takeUpdateBudget(ofPhone number: Int, at time: Int64) -> Bool {
        let isFrequent = phones[number].traits.contains(.frequentUpdates)
        guard let budget = isFrequent ? settings.frequentUpdateBudget : settings.updateBudget else {
            return true
        }
        return budget.takePush(spentUntil: &phones[number].updatesSpentUntil, at: time)
    }

    /// Keeps the update for later or drops it, as the settings demand.
    private func throttle(_ push: AcceptedPush, forActivity index: Int, at time: Int64) -> PushEffect {
        guard case .delay(let milliseconds) = settings.throttling else { return .updateBudgetSpent }
        let waitingTimestamp = throttledPushes[Int32(index)]?.payload.timestamp ?? .min
        if let timestamp = push.payload.timestamp, timestamp >= waitingTimestamp {
            throttledPushes[Int32(index)] = push
        }
        if activities[index].throttledUntil == .max {
            activities[index].throttledUntil = time + milliseconds
            schedule(activity: index)
        }
        return .throttled
    }

    /// Shows the throttled update if it is still newer.
    func showThrottledUpdate(ofActivity index: Int, at time: Int64) {
        activities[index].throttledUntil = .max
        guard let push = throttledPushes.removeValue(forKey: Int32(index)) else { return }
        let number = Int(activities[index].phone)
        recordReception(
            of: push, onPhone: number,
            effect: applyUpdate(push, toActivity: index, at: time, isThrottled: true), at: time)
    }
}
