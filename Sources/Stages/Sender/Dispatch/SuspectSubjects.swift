/// Subjects whose token APNs refused the last time. Their pushes use separate connections, so that refusals do
/// not disturb the others.
struct SuspectSubjects {
    /// Limit of remembered subjects. A forgotten one costs a refusal on the usual connections.
    private static let countMax = 200_000

    private var refused = BoundedTable<UInt64, Bool>(max: SuspectSubjects.countMax)

    var count: Int { refused.count }

    func contains(_ subject: UInt64) -> Bool { refused.count > 0 && refused[subject] != nil }
    mutating func refused(_ subject: UInt64) { refused.set(true, for: subject) }
    mutating func accepted(_ subject: UInt64) { refused.remove(subject) }
}
