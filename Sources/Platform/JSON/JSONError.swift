/// All problems of a refused document.
package struct JSONError: Error, Sendable, Equatable {
    /// The problems in the order in which they were found. Never empty.
    package let problems: [JSONProblem]

    /// The count of problems beyond `JSONLimits.problemsMax`, which are not listed.
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
