/// An error of a benchmark that did not do the work that it measures, so its numbers would have no meaning.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    static func unknownOption(_ name: String) -> BenchmarkFailure {
        BenchmarkFailure("\(name) is not known; --help lists the options")
    }
}
