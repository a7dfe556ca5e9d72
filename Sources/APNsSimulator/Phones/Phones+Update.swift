internal import LiveActivity

// A push on an update token, or on a channel that the activity listens to.

extension Phones {
    /// The activity's place must be lived in.
    func update(_ push: AcceptedPush, _ place: Int, at time: Int64, isThrottled: Bool = false) -> PushEffect {
        settle(place, at: time)
        let payload = push.payload
        guard activities[place].state != .free else { return .noLongerShown }
        guard let event = payload.event else { return .unknownEvent }
        guard event != .start else { return .wrongEventForToken }
        guard activities[place].isRunning else { return .alreadyEnded }
        guard let timestamp = payload.timestamp else { return .timestampMissing }
        let shown = activities[place].timestamp
        if timestamp < shown { return .olderTimestamp }
        if timestamp == shown, !settings.takesEqualTimestamps { return .sameTimestamp }
        if let fault = fault(in: payload, event, place) { return fault }
        if !isThrottled, push.priority == 10, !isWithinBudget(Int(activities[place].phone), at: time) {
            return throttle(push, place, at: time)
        }
        apply(payload, event, timestamp, place, at: time)
        return event == .end ? .ended : .shown
    }

    private func fault(in payload: PushPayload, _ event: PushEvent, _ place: Int) -> PushEffect? {
        guard let content = payload.contentState else {
            // An end without a state leaves the last one on the screen.
            return event == .end ? nil : .contentStateMissing
        }
        let activity = activities[place]
        let number = typeNumber(phones[Int(activity.phone)].app, activity.type)
        return decoder.decodes(content, as: type(of: activity), number) ? nil : .contentStateNotDecoded
    }

    private func apply(
        _ payload: PushPayload, _ event: PushEvent, _ timestamp: Int64, _ place: Int, at time: Int64
    ) {
        if let content = payload.contentState {
            let number = contents.use(content)
            contents.release(activities[place].content)
            activities[place].content = number
        }
        activities[place].timestamp = timestamp
        activities[place].changedAt = time
        activities[place].state = .active
        activities[place].staleAt = payload.staleDate.map(milliseconds) ?? .max
        if event == .end {
            let latest = time + settings.shownMilliseconds
            let wanted = payload.dismissalDate.map(milliseconds) ?? latest
            end(place, leavingAt: min(max(wanted, time), latest), at: time)
            settle(place, at: time)
        }
        schedule(place)
    }

    // MARK: Budget

    private func isWithinBudget(_ number: Int, at time: Int64) -> Bool {
        let isFrequent = phones[number].traits.contains(.frequentUpdates)
        guard let budget = isFrequent ? settings.frequentUpdateBudget : settings.updateBudget else {
            return true
        }
        return budget.allows(&phones[number].updatesSpentUntil, at: time)
    }

    private func throttle(_ push: AcceptedPush, _ place: Int, at time: Int64) -> PushEffect {
        guard case .delay(let milliseconds) = settings.throttling else { return .updateBudgetSpent }
        let waiting = throttled[Int32(place)]?.payload.timestamp ?? .min
        if let timestamp = push.payload.timestamp, timestamp >= waiting { throttled[Int32(place)] = push }
        if activities[place].throttledUntil == .max {
            activities[place].throttledUntil = time + milliseconds
            schedule(place)
        }
        return .throttled
    }

    /// What was held back is shown, if it still is newer.
    func showThrottled(_ place: Int, at time: Int64) {
        activities[place].throttledUntil = .max
        guard let push = throttled.removeValue(forKey: Int32(place)) else { return }
        let number = Int(activities[place].phone)
        note(push, on: number, update(push, place, at: time, isThrottled: true), at: time)
    }
}
