/// A benchmark that did not do the work it measures: its numbers would mean nothing.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
