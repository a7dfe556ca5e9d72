internal import CatalogRecords
internal import Identifiers
package import JSON
internal import Payloads

/// Queries: the screens of one phone and of a group, and counts.
extension Phones {
    // MARK: One phone

    /// Returns a snapshot of one phone.
    /// - Parameters:
    ///   - limit: the maximum number of newest received pushes.
    ///   - time: milliseconds since 1970.
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
            receivedPushes: receptions.newest(limit: limit, ofPhone: number, phone: phone).map { entry in
                .init(
                    receivedAt: entry.receivedAt, id: entry.id, event: entry.event,
                    timestamp: entry.timestamp, priority: Int(entry.priority), effect: entry.effect,
                    problem: decodingProblem(of: entry))
            })
    }

    /// Returns the problem of a push that the app could not decode, with the path from `aps`.
    private func decodingProblem(of entry: Receptions.Entry) -> PhoneScreen.ReceivedPush.DecodingProblem? {
        guard let part = entry.effect.undecodedPart,
            let problem = decoder.problem(numbered: entry.problemNumber)
        else {
            return nil
        }
        // The path of an array's element begins with its index in brackets, without a dot.
        let needsNoDot = problem.path.isEmpty || problem.path.hasPrefix("[")
        return .init(path: part + (needsNoDot ? "" : ".") + problem.path, message: problem.message)
    }

    private func screenActivity(at index: Int) -> PhoneScreen.Activity {
        let activity = activities[index]
        return .init(
            id: activityID(index: index, slotGeneration: activity.slotGeneration),
            attributesType: type(of: activity).name, group: groups[activity.group],
            contentState: contents[activity.content], timestamp: activity.timestamp,
            state: state(ofActivity: index), contentChangedAt: activity.changedAt,
            startedAt: activity.startedAt,
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

    // MARK: A group

    /// Returns the names of the groups with an activity on some screen that come after `name`, sorted.
    package func groupNames(after name: String? = nil, limit: Int) -> [String] {
        var groupNames: [String] = []
        for number in 0..<Int32(groups.numberBound) {
            if let group = groups[number], name.map({ group > $0 }) ?? true { groupNames.append(group) }
        }
        return Array(groupNames.sorted().prefix(max(0, limit)))
    }

    /// Returns the content states of a group, or nil if no phone shows an activity of the group.
    ///
    /// It looks at every activity, which takes a few milliseconds for a million.
    /// - Parameter first: number of the most frequent states to skip.
    package func screens(ofGroup name: String, from first: Int = 0, limit: Int = 100, at time: Int64)
        -> GroupScreens?
    {
        guard let group = groups.number(of: name) else { return nil }
        // Activities by the number of their content plus one, because -1 stands for no content.
        var counts = [Int](repeating: 0, count: contents.numberBound + 1)
        var activityCount = 0
        var phonesWithSeveral = 0
        for index in activities.indices where activities[index].group == group {
            advance(activity: index, to: time)
            guard activities[index].state != .free else { continue }
            activityCount += 1
            counts[Int(activities[index].content) + 1] += 1
            // Count a phone with several activities once: at its second oldest, the only one with exactly one older
            // activity.
            if olderActivities(inGroup: group, than: index) == 1 { phonesWithSeveral += 1 }
        }
        guard activityCount > 0 else { return nil }
        // The most frequent first, and equally frequent ones by number.
        let shownContents = counts.indices.filter { counts[$0] > 0 }
            .sorted { (counts[$1], $0) < (counts[$0], $1) }
        let page = shownContents.dropFirst(max(0, first)).prefix(max(0, limit)).map { index in
            GroupScreens.ShownState(contentState: contents[Int32(index - 1)], activities: counts[index])
        }
        return GroupScreens(
            group: name, activities: activityCount, phonesWithSeveral: phonesWithSeveral, shownStates: page,
            stateCount: shownContents.count)
    }

    /// Returns the number of the phone's older activities in the group, counted up to two.
    private func olderActivities(inGroup group: Int32, than index: Int) -> Int {
        var count = 0
        var next = activities[index].nextIndex
        while next >= 0, count < 2 {
            if activities[Int(next)].group == group { count += 1 }
            next = activities[Int(next)].nextIndex
        }
        return count
    }

    /// Returns the installations that show this content state of the group, in pages.
    /// - Parameter first: 0 for the first page, then the previous page's `next`, which is nil at the end.
    package func installations(
        showing contentState: RawJSON?, ofGroup group: String, from first: Int = 0, limit: Int
    ) -> (installations: [String], next: Int?) {
        guard let number = groups.number(of: group) else { return ([], nil) }
        let noContent: Int32 = -1
        let unknownContent: Int32 = -2
        let content = contentState.map { contents.number(of: $0) ?? unknownContent } ?? noContent
        var installations: [String] = []
        for index in activities.indices.dropFirst(max(0, first))
        where activities[index].group == number && activities[index].content == content {
            if installations.count == limit { return (installations, index) }
            installations.append(names.installation(ofPhone: Int(activities[index].phone)))
        }
        return (installations, nil)
    }

    // MARK: All phones

    /// Number of phones whose iOS supports a start by push.
    package var startablePhones: Int { phones.count { $0.system >= .pushToStart } }

    /// Returns the count of each effect, for all pushes and phones.
    package func effectCounts() -> [(effect: PushEffect, count: Int)] {
        PushEffect.allCases.map { ($0, receptions.counts[Int($0.rawValue)]) }
    }

    /// Number of reports that wait, were sent, and were lost because too many waited.
    package var reportCounts: (waiting: Int, sent: Int, lost: Int) {
        (
            outgoingReports.count + outgoingReports.pendingLaunches, outgoingReports.sentCount,
            outgoingReports.lostCount
        )
    }
}
