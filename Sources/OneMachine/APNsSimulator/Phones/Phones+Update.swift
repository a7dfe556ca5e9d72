internal import LiveActivity

// Handling of a push to an update token, or to a channel of the activity.

extension Phones {
    /// Applies an update or END. The activity must not be free.
    func update(_ push: AcceptedPush, _ index: Int, at time: Int64, isThrottled: Bool = false) -> PushEffect {
        settle(index, at: time)
        let payload = push.payload
        guard activities[index].state != .free else { return .noLongerShown }
        guard let event = payload.event else { return .unknownEvent }
        guard event != .start else { return .wrongEventForToken }
        guard activities[index].isRunning else { return .alreadyEnded }
        guard let timestamp = payload.timestamp else { return .timestampMissing }
        let shown = activities[index].timestamp
        if timestamp < shown { return .olderTimestamp }
        if timestamp == shown, !settings.takesEqualTimestamps { return .sameTimestamp }
        if let fault = fault(in: payload, event, index) { return fault }
        if !isThrottled, push.priority == 10, !isWithinBudget(Int(activities[index].phone), at: time) {
            return throttle(push, index, at: time)
        }
        apply(payload, as: event, timestamp: timestamp, to: index, at: time)
        return event == .end ? .ended : .shown
    }

    private func fault(in payload: PushPayload, _ event: PushEvent, _ index: Int) -> PushEffect? {
        guard let content = payload.contentState else {
            // An END without a state leaves the last state on the screen.
            return event == .end ? nil : .contentStateMissing
        }
        let activity = activities[index]
        let number = typeNumber(phones[Int(activity.phone)].app, activity.type)
        return decoder.decodes(content, as: type(of: activity), number) ? nil : .contentStateNotDecoded
    }

    private func apply(
        _ payload: PushPayload, as event: PushEvent, timestamp: Int64, to index: Int, at time: Int64
    ) {
        if let content = payload.contentState {
            let number = contents.use(content)
            contents.release(activities[index].content)
            activities[index].content = number
        }
        activities[index].timestamp = timestamp
        activities[index].changedAt = time
        activities[index].state = .active
        activities[index].staleAt = payload.staleDate.map(milliseconds) ?? .max
        if event == .end {
            let latest = time + settings.shownMilliseconds
            let wanted = payload.dismissalDate.map(milliseconds) ?? latest
            end(index, leavingAt: min(max(wanted, time), latest), at: time)
            settle(index, at: time)
        }
        schedule(index)
    }

    // MARK: Budget

    private func isWithinBudget(_ number: Int, at time: Int64) -> Bool {
        let isFrequent = phones[number].traits.contains(.frequentUpdates)
        guard let budget = isFrequent ? settings.frequentUpdateBudget : settings.updateBudget else {
            return true
        }
        return budget.allows(&phones[number].updatesSpentUntil, at: time)
    }

    private func throttle(_ push: AcceptedPush, _ index: Int, at time: Int64) -> PushEffect {
        guard case .delay(let milliseconds) = settings.throttling else { return .updateBudgetSpent }
        let waiting = throttled[Int32(index)]?.payload.timestamp ?? .min
        if let timestamp = push.payload.timestamp, timestamp >= waiting { throttled[Int32(index)] = push }
        if activities[index].throttledUntil == .max {
            activities[index].throttledUntil = time + milliseconds
            schedule(index)
        }
        return .throttled
    }

    /// Shows the throttled update if it is still newer.
    func showThrottled(_ index: Int, at time: Int64) {
        activities[index].throttledUntil = .max
        guard let push = throttled.removeValue(forKey: Int32(index)) else { return }
        let number = Int(activities[index].phone)
        note(push, on: number, update(push, index, at: time, isThrottled: true), at: time)
    }
}
