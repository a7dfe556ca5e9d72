internal import Containers
internal import LiveActivity

// Changes that happen with time.

extension Phones {
    func tick(at time: Int64) {
        if let habits { live(by: habits, at: time) }
        while let entry = phoneWakes.pop(where: { $0.time <= time }) {
            let number = Int(entry.index)
            if phones[number].traits.contains(.away), phones[number].changesAt == entry.time {
                comeBack(number, at: time)
            }
        }
        var left = settings.wakesPerTurn
        while left > 0, let entry = activityWakes.pop(where: { $0.time <= time }) {
            left -= 1
            let index = Int(entry.index)
            guard activities[index].wakesAt == entry.time else { continue }
            activities[index].wakesAt = .max
            wake(index, at: time)
        }
        serveBroadcasts(at: time)
        sendReports(at: time)
    }

    /// Simulates a period at once, turn by turn, so that all events happen in order and are reported with
    /// their own times.
    func live(from start: Int64, to end: Int64) {
        var time = start
        while time < end {
            let due = min(activityWakes.first?.time ?? end, phoneWakes.first?.time ?? end)
            time = min(end, max(due, time + Int64(Simulator.tickMilliseconds)))
            tick(at: time)
        }
    }

    private func wake(_ index: Int, at time: Int64) {
        settle(index, at: time)
        guard activities[index].state != .free else { return }
        if activities[index].throttledUntil <= time { showThrottled(index, at: time) }
        if activities[index].tokenAt <= time {
            activities[index].tokenAt = .max
            activities[index].owesToken = true
            let number = Int(activities[index].phone)
            if phones[number].canReport { reportToken(index, at: time) }
        }
        schedule(index)
    }

    /// Brings an activity to its state at this time. Safe to call before each read of the activity.
    func settle(_ index: Int, at time: Int64) {
        let wall = activities[index].startedAt + settings.activeMilliseconds
        if activities[index].state == .active, activities[index].staleAt <= min(time, wall) {
            activities[index].state = .stale
            tell(.stale, index, at: time)
        }
        if activities[index].isRunning, wall <= time {
            end(index, leavingAt: wall + settings.shownMilliseconds, at: time)
        }
        if activities[index].state == .ended, activities[index].leavesAt <= time {
            remove(index, at: time)
        }
    }

    /// Ends the activity. It stays on the Lock Screen for a while.
    func end(_ index: Int, leavingAt leaves: Int64, at time: Int64) {
        activities[index].state = .ended
        activities[index].leavesAt = leaves
        activities[index].tokenAt = .max
        activities[index].owesToken = false
        tell(.ended, index, at: time)
    }

    /// Removes the activity from the screen and frees its slot.
    func remove(_ index: Int, at time: Int64) {
        tell(.dismissed, index, at: time)
        let activity = activities[index]
        unlink(index, from: Int(activity.phone))
        contents.release(activity.content)
        groups.release(activity.group)
        if activity.channel >= 0 { channels.leave(activity.channel) }
        if activity.throttledUntil != .max { throttled[Int32(index)] = nil }
        var free = PhoneActivity()
        free.life = activity.life
        free.startedAt = activity.startedAt
        free.changedAt = time
        free.next = freeActivity
        activities[index] = free
        freeActivity = Int32(index)
    }

    private func unlink(_ index: Int, from number: Int) {
        let next = activities[index].next
        guard phones[number].firstActivity != Int32(index) else {
            phones[number].firstActivity = next
            return
        }
        for other in indices(of: number) where activities[other].next == Int32(index) {
            activities[other].next = next
            return
        }
    }

    /// Schedules a wake-up of the activity at its next event.
    func schedule(_ index: Int) {
        let activity = activities[index]
        guard activity.state != .free else { return }
        var next = min(activity.tokenAt, activity.throttledUntil)
        switch activity.state {
        case .active: next = min(next, activity.staleAt, activity.startedAt + settings.activeMilliseconds)
        case .stale: next = min(next, activity.startedAt + settings.activeMilliseconds)
        case .ended: next = min(next, activity.leavesAt)
        case .free: break
        }
        guard next < activity.wakesAt else { return }
        activities[index].wakesAt = next
        activityWakes.push(.init(time: next, index: Int32(index)))
    }
}
