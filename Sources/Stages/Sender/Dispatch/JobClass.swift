/// The class of a job in the order of pushes. Urgent jobs go first, but normal jobs get a share of the pushes.
enum JobClass: Sendable, Hashable, CaseIterable {
    case urgent
    case normal
}

extension JobTopic {
    /// Jobs from a tier are normal ones.
    var jobClass: JobClass { self == .urgent ? .urgent : .normal }
}
