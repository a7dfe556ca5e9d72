internal import Containers
internal import InstallationRecords

/// Changes that become due as time passes: phones return, activities become stale, end and leave the screen.
///
/// Times are milliseconds since 1970, and `.max` is never. A phone or activity may have several entries in its heap
/// of wake-ups. Only the entry with its current time counts.
extension Phones {
    /// Makes the changes that are due, up to the limits of one tick.
    package func tick(at time: Int64) {
        if let eventRates { simulateEvents(rates: eventRates, time: time) }
        bringDuePhonesOnline(at: time)
        wakeDueActivities(at: time)
        continueBroadcasts(at: time)
        sendReports(at: time)
    }

    private func bringDuePhonesOnline(at time: Int64) {
        while let entry = phoneWakes.pop(where: { $0.time <= time }) {
            let number = Int(entry.index)
            if phones[number].traits.contains(.away), phones[number].returnsAt == entry.time {
                bringOnline(phone: number, at: time)
            }
        }
    }

    private func wakeDueActivities(at time: Int64) {
        // Wake-ups above the limit follow in the next ticks, so that a tick does not block the simulator's loop.
        var remainingWakes = settings.wakesPerTick
        while remainingWakes > 0, let entry = activityWakes.pop(where: { $0.time <= time }) {
            remainingWakes -= 1
            let index = Int(entry.index)
            guard activities[index].wakesAt == entry.time else { continue }
            activities[index].wakesAt = .max
            wake(activity: index, at: time)
        }
    }

    /// Simulates a period at once, tick by tick, so that all events happen in order and are reported with
    /// their own times. Ticks without a due change are skipped.
    package func simulate(from start: Int64, to end: Int64) {
        var time = start
        while time < end {
            let nextDue = min(activityWakes.first?.time ?? end, phoneWakes.first?.time ?? end)
            time = min(end, max(nextDue, time + Int64(Simulator.tickMilliseconds)))
            tick(at: time)
        }
    }

    /// Makes the due changes of an activity and schedules the next wake-up.
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

    /// Brings an activity to its state at this time. It is called before each read of an activity, because
    /// its wake-up may come later. A free slot stays free.
    func advance(activity index: Int, to time: Int64) {
        // The system ends an activity after some hours.
        let systemEndsAt = activities[index].startedAt + settings.activeMilliseconds
        if activities[index].state == .active, activities[index].staleAt <= min(time, systemEndsAt) {
            activities[index].state = .stale
            reportState(.stale, ofActivity: index, at: time)
        }
        if activities[index].isRunning, systemEndsAt <= time {
            end(activity: index, dismissingAt: systemEndsAt + settings.endedShownMilliseconds, at: time)
        }
        if activities[index].state == .ended, activities[index].dismissesAt <= time {
            remove(activity: index, at: time)
        }
    }

    /// Ends the activity. It stays on the Lock Screen until `dismissesAt`.
    func end(activity index: Int, dismissingAt dismissesAt: Int64, at time: Int64) {
        activities[index].state = .ended
        activities[index].dismissesAt = dismissesAt
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
        if activity.throttledUntil != .max { throttledPushes[Int32(index)] = nil }
        var freeSlot = PhoneActivity()
        // These stay, because they decide the answers to pushes to old tokens of this slot.
        freeSlot.slotGeneration = activity.slotGeneration
        freeSlot.startedAt = activity.startedAt
        freeSlot.changedAt = time
        // Now it links the free slots, no longer the phone's activities.
        freeSlot.nextIndex = firstFreeSlot
        activities[index] = freeSlot
        firstFreeSlot = Int32(index)
    }

    /// Removes the activity from the list of its phone's activities.
    private func unlink(activity index: Int, fromPhone number: Int) {
        let next = activities[index].nextIndex
        guard phones[number].newestActivity != Int32(index) else {
            phones[number].newestActivity = next
            return
        }
        for previous in activityIndices(ofPhone: number)
        where activities[previous].nextIndex == Int32(index) {
            activities[previous].nextIndex = next
            return
        }
    }

    /// Schedules a wake-up of the activity at its next change, unless it wakes earlier.
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
