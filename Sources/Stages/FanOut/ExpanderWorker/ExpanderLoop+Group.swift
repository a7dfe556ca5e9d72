internal import Kafka
internal import LiveActivity
internal import StageSupport
internal import Telemetry
internal import Topics

extension ExpanderLoop: GroupMemberOwner {
    func place(_ topic: ExpandedTopic, _ partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(topic.name), partition)
    }

    func assigned(_ numbers: [Int32]) {
        starts.keep(numbers)
        registry.keep(numbers)
        onStep(.assigned)
    }

    func letGo() throws {
        try starts.letGo()
        registry.letGo()
    }

    func isReadyToBegin(_ numbers: [Int32]) throws -> Bool {
        guard starts.blockage == nil, registry.blockage == nil, catalog != nil,
            try starts.openNext(of: numbers)
        else { return false }
        return try registry.openNext(of: numbers)
    }

    func begin(_ numbers: [Int32], followed offsets: [CommittedOffset]) throws {
        var committed: [Int32: Int64?] = [:]
        for offset in offsets {
            let partition = offset.partition.partition
            committed[partition] = .some(offset.offset)
            member.owned[partition]?.beginViews(registryCommitted: offset.offset)
        }
        try registry.begin(committed)
        try starts.begin(numbers)
    }

    func flows(_ partition: Int32) { onStep(.restored) }

    var followedOffsets: [OffsetToCommit] {
        member.owned.values.compactMap { lane in
            lane.registryCommitted.map {
                OffsetToCommit(TopicPartition(layout.name(.registry), lane.partition), offset: $0)
            }
        }
    }
}

extension ExpanderLoop: TopicViewsOwner {
    /// The time of this machine. It only decides the age of files.
    var decisionTime: Int64 { clock().milliseconds }

    func startOverLater() { member.startOverLater() }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func readViews(waitMilliseconds: Int32) throws {
        try readStarts(waitMilliseconds: waitMilliseconds)
        try readRegistry()
        if member.mustStartOver { return }
        for lane in member.owned.values where lane.condition == .restoring { finishRestoring(lane) }
    }

    func readStarts(waitMilliseconds: Int32) throws {
        for partition in try starts.read(waitMilliseconds: waitMilliseconds) {
            member.owned[partition]?.hasStarts = true
        }
    }

    func readRegistry() throws {
        try registry.read(waitMilliseconds: 0)
        // A lane with a damaged file is not in the registry any more. After a full disk, some records were
        // not taken.
        if !member.mustStartOver,
            registry.blockage != nil || member.owned.keys.contains(where: { registry[$0] == nil })
        {
            member.startOverLater()
        }
    }

    /// Completes the restore of a lane. It can take registry news as soon as `starts` is complete. Pages also
    /// wait for the registry.
    private func finishRestoring(_ lane: OwnedLane) {
        guard lane.hasStarts, registry.isReady(lane.partition), let file = registry[lane.partition] else {
            return
        }
        if lane.worker == nil {
            let table = StartsTable(of: lane.partition, in: starts, decoded: scopes, reader: reader, log: log)
            lane.worker = LaneWorker(file, table, isNew: lane.isNew, jobsPerSheet: settings.jobsPerSheet)
            registry.serve(lane.partition)
        }
        if registry.isComplete(lane.partition) { member.serve(lane.partition) }
    }

    func pause(_ topic: ExpandedTopic, of lane: OwnedLane) { consumer.pause([place(topic, lane.partition)]) }
}
