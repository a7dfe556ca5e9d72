internal import LiveActivity

// What happens by itself.

extension Phones {
    func tick(at time: Int64) {
        if let habits { live(by: habits, at: time) }
        while let entry = phoneWakes.take(dueAt: time) {
            let number = Int(entry.place)
            if phones[number].traits.contains(.away), phones[number].changesAt == entry.time {
                comeBack(number, at: time)
            }
        }
        var left = settings.wakesPerTurn
        while left > 0, let entry = activityWakes.take(dueAt: time) {
            left -= 1
            let place = Int(entry.place)
            guard activities[place].wakesAt == entry.time else { continue }
            activities[place].wakesAt = .max
            wake(place, at: time)
        }
        serveBroadcasts(at: time)
        sendReports(at: time)
    }

    /// Lives through a stretch of time at once, in the turns in which something is due: so everything
    /// happens in its order, and is reported as having happened at its time.
    func live(from start: Int64, to end: Int64) {
        var time = start
        while time < end {
            let due = min(activityWakes.earliest ?? end, phoneWakes.earliest ?? end)
            time = min(end, max(due, time + Int64(Simulator.tickMilliseconds)))
            tick(at: time)
        }
    }

    private func wake(_ place: Int, at time: Int64) {
        settle(place, at: time)
        guard activities[place].state != .free else { return }
        if activities[place].throttledUntil <= time { showThrottled(place, at: time) }
        if activities[place].tokenAt <= time {
            activities[place].tokenAt = .max
            activities[place].owesToken = true
            let number = Int(activities[place].phone)
            if phones[number].canReport { reportToken(place, at: time) }
        }
        schedule(place)
    }

    /// Brings an activity to what it is at this time. Safe to call whenever somebody looks at it.
    func settle(_ place: Int, at time: Int64) {
        let wall = activities[place].startedAt + settings.activeMilliseconds
        if activities[place].state == .active, activities[place].staleAt <= min(time, wall) {
            activities[place].state = .stale
            tell(.stale, place, at: time)
        }
        if activities[place].isRunning, wall <= time {
            end(place, leavingAt: wall + settings.shownMilliseconds, at: time)
        }
        if activities[place].state == .ended, activities[place].leavesAt <= time {
            remove(place, at: time)
        }
    }

    /// The activity runs no more; it stays on the Lock Screen for a while.
    func end(_ place: Int, leavingAt leaves: Int64, at time: Int64) {
        activities[place].state = .ended
        activities[place].leavesAt = leaves
        activities[place].tokenAt = .max
        activities[place].owesToken = false
        tell(.ended, place, at: time)
    }

    /// The activity leaves the screen, and its place is free.
    func remove(_ place: Int, at time: Int64) {
        tell(.dismissed, place, at: time)
        let activity = activities[place]
        unlink(place, from: Int(activity.phone))
        contents.release(activity.content)
        groups.release(activity.group)
        if activity.channel >= 0 { channels.leave(activity.channel) }
        if activity.throttledUntil != .max { throttled[Int32(place)] = nil }
        var free = PhoneActivity()
        free.life = activity.life
        free.startedAt = activity.startedAt
        free.changedAt = time
        free.next = freeActivity
        activities[place] = free
        freeActivity = Int32(place)
    }

    private func unlink(_ place: Int, from number: Int) {
        let next = activities[place].next
        guard phones[number].firstActivity != Int32(place) else {
            phones[number].firstActivity = next
            return
        }
        for other in places(of: number) where activities[other].next == Int32(place) {
            activities[other].next = next
            return
        }
    }

    /// Sees to it that the activity is woken at the next time at which something is due.
    func schedule(_ place: Int) {
        let activity = activities[place]
        guard activity.state != .free else { return }
        var next = min(activity.tokenAt, activity.throttledUntil)
        switch activity.state {
        case .active: next = min(next, activity.staleAt, activity.startedAt + settings.activeMilliseconds)
        case .stale: next = min(next, activity.startedAt + settings.activeMilliseconds)
        case .ended: next = min(next, activity.leavesAt)
        case .free: break
        }
        guard next < activity.wakesAt else { return }
        activities[place].wakesAt = next
        activityWakes.insert(.init(time: next, place: Int32(place)))
    }
}
