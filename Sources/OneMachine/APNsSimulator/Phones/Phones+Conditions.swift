// Counts of phones that meet a condition of `POST /v1/wait`. The newest activity of a phone decides. For a
// group it is the phone's newest activity of that group.

extension Phones {
    /// Returns the count for one phone. `total` is 1 if the phone shows an activity, otherwise 0.
    func count(meeting condition: ScreenCondition, onPhone number: Int, group: String?, at time: Int64)
        -> ScreenCount
    {
        for index in activityIndices(ofPhone: number) { advance(activity: index, to: time) }
        let newest = activityIndices(ofPhone: number).first {
            group == nil || groups[activities[$0].group] == group
        }
        guard let newest else { return ScreenCount(showing: 0, total: 0) }
        let isMet =
            condition.isMet(by: contents[activities[newest].content])
            && meetsState(of: condition, activity: newest)
        return ScreenCount(showing: isMet ? 1 : 0, total: 1)
    }

    /// Returns the count for all phones that show the group. It looks at every activity, which takes a few
    /// milliseconds for a million.
    /// - Parameter time: milliseconds since 1970.
    func count(meeting condition: ScreenCondition, inGroup name: String, at time: Int64) -> ScreenCount {
        var count = ScreenCount(showing: 0, total: 0)
        guard let group = groups.number(of: name) else { return count }
        // A send gives all phones the same content state, so the condition is checked once for each state. The
        // results are stored by the number of the content plus one, because -1 stands for no content.
        var results = [Bool?](repeating: nil, count: contents.numberBound + 1)
        for index in activities.indices where activities[index].group == group {
            advance(activity: index, to: time)
            guard activities[index].state != .free, isNewest(activity: index, inGroup: group) else {
                continue
            }
            count.total += 1
            guard meetsState(of: condition, activity: index) else { continue }
            let content = activities[index].content
            let isMet = results[Int(content) + 1] ?? condition.isMet(by: contents[content])
            results[Int(content) + 1] = isMet
            if isMet { count.showing += 1 }
        }
        return count
    }

    private func meetsState(of condition: ScreenCondition, activity index: Int) -> Bool {
        condition.state.map { $0 == state(ofActivity: index) } ?? true
    }

    /// Whether no later activity of its phone belongs to the group.
    private func isNewest(activity index: Int, inGroup group: Int32) -> Bool {
        // A phone's activities are linked from the newest to the oldest.
        var next = phones[Int(activities[index].phone)].newestActivity
        while next >= 0, Int(next) != index {
            if activities[Int(next)].group == group { return false }
            next = activities[Int(next)].nextIndex
        }
        return true
    }
}
