// The ends of partitions. They show whether all sheets of earlier owners were read. Once these sheets are finished,
// the next owner does not need the receipts about them (`EarlierOwnerSheets`).
//
// When the consumer reports the end of a partition, all records below it were read. The end is *confirmed* if no
// earlier owner can write a sheet after it. Only a confirmed end shows that all sheets of earlier owners were read.
//
// - If the pushes of earlier owners have ended (the lane is `open`), a reported end is confirmed at once.
// - Before that, an earlier owner may still write a sheet after the end. The end is kept as unconfirmed, because the
//   consumer does not report it again. If a record arrives after it, the unconfirmed end is deleted (`noteArrival`).
// - After a lane has opened, `confirmEnds` confirms its unconfirmed ends. The plan calls it when the consumer holds no
//   more fetched records, because such a record may lie after the end.
extension LaneOwnership {
    /// Handles the end of a topic's partition: all records below the offset were read.
    func reachedEnd(of topic: JobTopic, lane number: Int32, at offset: Int64) {
        guard let lane = lanes[number], lane.hasReadReceipts, !lane.isLeaving else { return }
        // The consumer has read past a sheet of a tier that is not due. It will read the sheet again, so this is no
        // end.
        if lane[topic].waitsForDeferredSheet { return }
        lane[topic].reachedEnd(at: offset, isConfirmed: lane.haveEarlierPushesEnded)
    }

    /// Confirms the unconfirmed ends of open lanes. The consumer must hold no fetched records.
    mutating func confirmEnds() {
        guard mayHaveUnconfirmedEnds else { return }
        mayHaveUnconfirmedEnds = false
        for lane in lanes.values where lane.haveEarlierPushesEnded {
            for topic in JobTopic.allCases { lane[topic].confirmEnd() }
        }
    }
}
