// The sheets that begin: from then on their lines may be pushed. A sheet that was read waits for two things in turn:
//
// 1. The window must reach it. The window is a range of offsets that committed metadata names, so that the next owner
//    knows where unfinished sheets can lie. It moves with each commit. Until our first commit it is the window of the
//    earlier owner.
// 2. If an earlier owner may have begun it too, that owner's pushes must have ended. So the lane holds the sheet until
//    it opens (`Lane.mustHoldForEarlierOwner`).
extension LaneOwnership {
    /// Notes that a record has arrived, and returns its lane. Returns nil if the record was read before, or if the lane
    /// is given up, because the next owner reads the record then.
    func noteArrival(at offset: Int64, of topic: JobTopic, lane number: Int32) -> Lane? {
        guard let lane = lanes[number], !lane.isLeaving, offset >= lane[topic].tracker.position else {
            return nil
        }
        lane[topic].recordArrived()
        return lane
    }

    /// Queues a sheet behind those that wait for the window. Returns the sheets that begin, perhaps this one too.
    mutating func queueForWindow(_ sheet: Sheet) -> [Sheet] {
        sheet.lane[sheet.topic].queueForWindow(sheet)
        sheetsAwaitingWindowCount += 1
        pausing.noteChange()
        return takeSheetsInWindow(of: sheet.lane, topic: sheet.topic)
    }

    /// Takes the sheets that the window has reached, of all topics of a lane. Returns those that begin.
    mutating func takeSheetsInWindow(of lane: Lane) -> [Sheet] {
        var begun: [Sheet] = []
        for topic in JobTopic.allCases { begun += takeSheetsInWindow(of: lane, topic: topic) }
        return begun
    }

    /// Takes the sheets of a topic that the window has reached. Returns those that begin, in order. The lane holds the
    /// others, which have to wait for the earlier owner.
    mutating func takeSheetsInWindow(of lane: Lane, topic: JobTopic) -> [Sheet] {
        guard lane.mayPush else { return [] }
        var begun: [Sheet] = []
        while let sheet = lane[topic].takeNextInWindow() {
            sheetsAwaitingWindowCount -= 1
            pausing.noteChange()
            if lane.mustHoldForEarlierOwner(sheet) {
                lane.holdForEarlierOwner(sheet)
            } else {
                begun.append(sheet)
            }
        }
        return begun
    }
}
