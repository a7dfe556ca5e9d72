internal import Jobs

/// The id of a job: the position and the line where it was first stored. It stays the same when the job moves to a
/// topic of later attempts.
struct SimulatedJobID: Hashable, CustomStringConvertible {
    let position: JobPosition
    let line: Int
    var description: String { "\(position.topic)/\(position.partition)/\(position.offset)#\(line)" }
}

/// The simulation's knowledge of a job.
struct SimulatedJob {
    let head: SheetHead
    /// The activity or start token that the job pushes to. It gets one push at a time.
    let pushTarget: String
    /// The target's name within its scope and group. A newer update with the same name replaces this job.
    let supersedingKey: String
    /// The number of pushes that APNs processed.
    var processedCount = 0
    /// The number of pushes whose outcome stayed unknown to the process, so that it may push again.
    var unknownOutcomes = 0
}
