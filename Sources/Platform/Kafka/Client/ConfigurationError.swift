/// The problems that prevent a client from being made, one sentence each.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package let problems: [String]

    init(problems: [String]) { self.problems = problems }

    package var description: String { problems.joined(separator: "\n") }
}
