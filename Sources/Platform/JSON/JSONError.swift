/// The problems for which a document was refused.
package struct JSONError: Error, Sendable, Equatable {
    /// The problems in the order in which they were found. Never empty.
    package let problems: [JSONProblem]

    /// The number of problems beyond `JSONLimits.problemsMax`, which are not listed.
    package let unlistedCount: Int

    init(problems: [JSONProblem], unlistedCount: Int = 0) {
        precondition(!problems.isEmpty)
        self.problems = problems
        self.unlistedCount = unlistedCount
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        let listed = problems.map(\.description).joined(separator: "; ")
        return unlistedCount == 0 ? listed : "\(listed); and \(unlistedCount) more"
    }
}
