package import LiveActivity

// Queries for the content of phones and its reasons.

extension Phones {
    /// - Parameter receptions: the maximum number of newest receptions.
    package func screen(ofPhone number: Int, receptions limit: Int = 20, at time: Int64) -> PhoneScreen {
        for index in activityIndices(ofPhone: number) { advance(activity: index, to: time) }
        let phone = phones[number]
        return PhoneScreen(
            installation: names.installation(ofPhone: number),
            user: names.user(ofPhone: number, phone: phone),
            app: apps[Int(phone.app)].id, environment: environment(of: phone), system: phone.system,
            isAway: phone.traits.contains(.away), isQuit: phone.traits.contains(.quit),
            isRemoved: phone.traits.contains(.removed), isSwitchedOff: phone.traits.contains(.switchedOff),
            allowsFrequentUpdates: phone.traits.contains(.frequentUpdates),
            activities: activityIndices(ofPhone: number).map(screenActivity),
            received: receptions.newest(limit: limit, ofPhone: number, phone: phone).map { entry in
                .init(
                    receivedAt: entry.receivedAt, id: entry.id,
                    event: entry.event == .max ? nil : PushEvent.allCases[Int(entry.event)],
                    timestamp: entry.timestamp, priority: Int(entry.priority), effect: entry.effect,
                    problem: decodingProblem(of: entry))
            })
    }

    private func decodingProblem(of entry: Receptions.Entry) -> PhoneScreen.ReceivedPush.DecodingProblem? {
        guard let part = entry.effect.undecodedPart, let problem = decoder.problem(numbered: entry.problem)
        else {
            return nil
        }
        let isRoot = problem.path.isEmpty || problem.path.hasPrefix("[")
        return .init(path: part + (isRoot ? "" : ".") + problem.path, message: problem.message)
    }

    private func screenActivity(at index: Int) -> PhoneScreen.Activity {
        let activity = activities[index]
        return .init(
            id: activityID(index: index, slotGeneration: activity.slotGeneration),
            attributesType: type(of: activity).name,
            group: groups[activity.group], contentState: contents[activity.content],
            timestamp: activity.timestamp,
            state: state(ofActivity: index),
            contentChangedAt: activity.changedAt, startedAt: activity.startedAt,
            channel: activity.channel < 0 ? nil : channels.channels[Int(activity.channel)].key.id,
            isTokenReported: activity.isTokenReported)
    }

    func state(ofActivity index: Int) -> PhoneScreen.Activity.ActivityState {
        switch activities[index].state {
        case .ended: .ended
        case .stale: .stale
        case .active, .free: .active
        }
    }

    /// Number of phones whose iOS supports a start by push.
    package var startablePhones: Int { phones.count { $0.system >= .pushToStart } }

    /// Returns the names of groups with an activity on some screen, sorted, in pages.
    package func groupNames(after name: String? = nil, limit: Int) -> [String] {
        var found: [String] = []
        for number in 0..<Int32(groups.numberBound) {
            if let group = groups[number], name.map({ group > $0 }) ?? true { found.append(group) }
        }
        return Array(found.sorted().prefix(max(0, limit)))
    }

    /// Returns the screens of a group, or nil if the group is unknown or all its activities have left.
    ///
    /// Looks at every activity, which takes a few milliseconds for a million.
    package func screens(ofGroup: String, from first: Int = 0, limit: Int = 100, at time: Int64)
        -> GroupScreens?
    {
        guard let number = groups.number(of: ofGroup) else { return nil }
        var counts = [Int](repeating: 0, count: contents.numberBound + 1)
        var total = 0
        var several = 0
        for index in activities.indices where activities[index].group == number {
            advance(activity: index, to: time)
            guard activities[index].state != .free else { continue }
            total += 1
            counts[Int(activities[index].content) + 1] += 1
            // The second to last activity of a phone in the group counts the phone once.
            if laterActivities(inGroup: number, after: index) == 1 { several += 1 }
        }
        guard total > 0 else { return nil }
        let present = counts.indices.filter { counts[$0] > 0 }
            .sorted { (counts[$1], $0) < (counts[$0], $1) }
        let page = present.dropFirst(max(0, first)).prefix(max(0, limit)).map { index in
            GroupScreens.ShownState(contentState: contents[Int32(index - 1)], activities: counts[index])
        }
        return GroupScreens(
            group: ofGroup, activities: total, phonesWithSeveral: several, shown: page,
            states: present.count)
    }

    /// Returns the number of the phone's later activities in the group, counted up to two.
    private func laterActivities(inGroup group: Int32, after index: Int) -> Int {
        var found = 0
        var next = activities[index].nextIndex
        while next >= 0, found < 2 {
            if activities[Int(next)].group == group { found += 1 }
            next = activities[Int(next)].nextIndex
        }
        return found
    }

    /// Returns the installations that show this state of the group, in pages. `next` is the start of the next
    /// page.
    package func installations(
        showing contentState: RawJSON?, ofGroup group: String, from first: Int = 0, limit: Int
    ) -> (installations: [String], next: Int?) {
        guard let number = groups.number(of: group) else { return ([], nil) }
        let content = contentState.map { contents.number(of: $0) ?? -2 } ?? -1
        var found: [String] = []
        for index in activities.indices.dropFirst(max(0, first))
        where activities[index].group == number && activities[index].content == content {
            if found.count == limit { return (found, index) }
            found.append(names.installation(ofPhone: Int(activities[index].phone)))
        }
        return (found, nil)
    }

    /// Returns the count of each effect, for all pushes and phones.
    package func effectCounts() -> [(effect: PushEffect, count: Int)] {
        PushEffect.allCases.map { ($0, receptions.counts[Int($0.rawValue)]) }
    }

    /// Number of reports that wait, were sent, and were lost because too many waited.
    package var reportCounts: (waiting: Int, sent: Int, lost: Int) {
        (outgoing.count + outgoing.pendingLaunches, outgoing.sent, outgoing.lost)
    }
}
