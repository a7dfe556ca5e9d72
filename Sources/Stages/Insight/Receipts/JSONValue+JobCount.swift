internal import JSON

extension JSONValue {
    /// The limit of a stored number of jobs. No send has as many, and the sum of all counts of all lanes is below
    /// `Int.max`, so damaged data cannot overflow it.
    private static var jobCountMax: Int { 1 << 40 }

    /// Reads a stored number of jobs, at least 1.
    func jobCount() -> Int { int(in: 1...Self.jobCountMax) }
}
