internal import Containers
internal import LiveActivity

// Changes that happen with time.

extension Phones {
    func tick(at time: Int64) {
        if let eventRates { simulateEvents(at: eventRates, time: time) }
        while let entry = phoneWakes.pop(where: { $0.time <= time }) {
            let number = Int(entry.index)
            if phones[number].traits.contains(.away), phones[number].changesAt == entry.time {
                reconnect(phone: number, at: time)
            }
        }
        var left = settings.wakesPerTurn
        while left > 0, let entry = activityWakes.pop(where: { $0.time <= time }) {
            left -= 1
            let index = Int(entry.index)
            guard activities[index].wakesAt == entry.time else { continue }
            activities[index].wakesAt = .max
            wake(activity: index, at: time)
        }
        continueBroadcasts(at: time)
        sendReports(at: time)
    }

    /// Simulates a period at once, turn by turn, so that all events happen in order and are reported with
    /// their own times.
    func simulate(from start: Int64, to end: Int64) {
        var time = start
        while time < end {
            let due = min(activityWakes.first?.time ?? end, phoneWakes.first?.time ?? end)
            time = min(end, max(due, time + Int64(Simulator.tickMilliseconds)))
            tick(at: time)
        }
    }

    private func wake(activity index: Int, at time: Int64) {
        advance(activity: index, to: time)
        guard activities[index].state != .free else { return }
        if activities[index].throttledUntil <= time { showThrottledUpdate(ofActivity: index, at: time) }
        if activities[index].tokenIssuedAt <= time {
            activities[index].tokenIssuedAt = .max
            activities[index].hasUnreportedToken = true
            let number = Int(activities[index].phone)
            if phones[number].canReport { reportToken(ofActivity: index, at: time) }
        }
        schedule(activity: index)
    }

    /// Brings an activity to its state at this time. Safe to call before each read of the activity.
    func advance(activity index: Int, to time: Int64) {
        let wall = activities[index].startedAt + settings.activeMilliseconds
        if activities[index].state == .active, activities[index].staleAt <= min(time, wall) {
            activities[index].state = .stale
            reportState(.stale, ofActivity: index, at: time)
        }
        if activities[index].isRunning, wall <= time {
            end(activity: index, leavingAt: wall + settings.shownMilliseconds, at: time)
        }
        if activities[index].state == .ended, activities[index].dismissesAt <= time {
            remove(activity: index, at: time)
        }
    }

    /// Ends the activity. It stays on the Lock Screen for a while.
    func end(activity index: Int, leavingAt leaves: Int64, at time: Int64) {
        activities[index].state = .ended
        activities[index].dismissesAt = leaves
        activities[index].tokenIssuedAt = .max
        activities[index].hasUnreportedToken = false
        reportState(.ended, ofActivity: index, at: time)
    }

    /// Removes the activity from the screen and frees its slot.
    func remove(activity index: Int, at time: Int64) {
        reportState(.dismissed, ofActivity: index, at: time)
        let activity = activities[index]
        unlink(activity: index, fromPhone: Int(activity.phone))
        contents.release(number: activity.content)
        groups.release(number: activity.group)
        if activity.channel >= 0 { channels.removeListener(fromChannel: activity.channel) }
        if activity.throttledUntil != .max { throttled[Int32(index)] = nil }
        var free = PhoneActivity()
        free.slotGeneration = activity.slotGeneration
        free.startedAt = activity.startedAt
        free.changedAt = time
        free.nextIndex = freeActivity
        activities[index] = free
        freeActivity = Int32(index)
    }

    private func unlink(activity index: Int, fromPhone number: Int) {
        let next = activities[index].nextIndex
        guard phones[number].firstActivity != Int32(index) else {
            phones[number].firstActivity = next
            return
        }
        for other in activityIndices(ofPhone: number) where activities[other].nextIndex == Int32(index) {
            activities[other].nextIndex = next
            return
        }
    }

    /// Schedules a wake-up of the activity at its next event.
    func schedule(activity index: Int) {
        let activity = activities[index]
        guard activity.state != .free else { return }
        var next = min(activity.tokenIssuedAt, activity.throttledUntil)
        switch activity.state {
        case .active: next = min(next, activity.staleAt, activity.startedAt + settings.activeMilliseconds)
        case .stale: next = min(next, activity.startedAt + settings.activeMilliseconds)
        case .ended: next = min(next, activity.dismissesAt)
        case .free: break
        }
        guard next < activity.wakesAt else { return }
        activities[index].wakesAt = next
        activityWakes.push(.init(time: next, index: Int32(index)))
    }
}
