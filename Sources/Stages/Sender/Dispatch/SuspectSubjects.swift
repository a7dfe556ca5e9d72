/// Subjects whose token APNs refused last. Their pushes use the suspect connections (`PushConnections`), so that
/// refusals do not slow down the others.
struct SuspectSubjects {
    /// Limit of remembered subjects. A forgotten one costs a refusal on the usual connections.
    private static let countMax = 200_000

    private var subjects = BoundedTable<UInt64, Bool>(max: SuspectSubjects.countMax)

    var count: Int { subjects.count }

    func contains(_ subject: UInt64) -> Bool { subjects.count > 0 && subjects[subject] != nil }
    mutating func noteRefused(_ subject: UInt64) { subjects.set(true, for: subject) }
    mutating func noteAccepted(_ subject: UInt64) { subjects.remove(subject) }
}
