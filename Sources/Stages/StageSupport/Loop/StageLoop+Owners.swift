package import Kafka
internal import Telemetry

// The loop as the owner of its group member and of its views, which call it back.

extension StageLoop: GroupMemberOwner {
    package func partitionsAssigned(_ numbers: [Int32]) {
        stage.views.closeFiles(except: numbers)
        decider.partitionsAssigned(numbers)
        stage.reportStep(.assigned)
    }

    package func partitionsRevoked() throws {
        try stage.views.releaseAll()
        decider.partitionsRevoked()
    }

    package func isReadyToRestore(_ numbers: [Int32]) throws -> Bool {
        guard stage.views.diskFull == nil, decider.diskFull == nil, decider.isReady,
            try stage.views.openNextFile(of: numbers)
        else { return false }
        return try decider.openNextFile(of: numbers)
    }

    package func startRestoring(_ numbers: [Int32], followedOffsets offsets: [CommittedOffset]) throws {
        try decider.startRestoring(numbers, followedOffsets: offsets)
        try stage.views.startReading(numbers)
    }

    package func partitionStartedServing(_ partition: Int32) {
        decider.partitionStartedServing(partition)
        stage.reportStep(.restored)
    }

    package var followedOffsets: [OffsetToCommit] { decider.followedOffsets }
}

extension StageLoop: TopicViewsOwner {
    /// The time by which the views decide whether a file is too old, in milliseconds since 1970.
    package var decisionTime: Int64 {
        stage.clock.decisionTime(at: stage.time.now()) ?? stage.time.wall().milliseconds
    }

    package func startOverLater() { stage.member.startOverLater() }

    package func viewsDidReach(_ step: TopicViews.Step) {
        stage.reportStep(step == .opened ? .viewOpened : .viewWritten)
    }
}
