/// A document that was refused, with everything that is wrong with it.
package struct JSONError: Error, Sendable, Equatable {
    /// In the order in which they were found; never empty.
    package let problems: [JSONProblem]

    /// Problems beyond `JSONLimits.problemsMax`, not listed.
    package let unlisted: Int

    init(problems: [JSONProblem], unlisted: Int = 0) {
        precondition(!problems.isEmpty)
        self.problems = problems
        self.unlisted = unlisted
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        let listed = problems.map(\.description).joined(separator: "; ")
        return unlisted == 0 ? listed : "\(listed); and \(unlisted) more"
    }
}
