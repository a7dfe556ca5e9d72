/// The limits of one document. A document beyond a limit is refused, and the message names the limit.
package struct JSONLimits: Sendable {
    /// Bytes of the document. A larger document is refused before it is parsed.
    package var bytesMax: Int
    /// The nesting depth of arrays and objects.
    package var depthMax: Int
    /// Member names in the whole document.
    package var keysMax: Int
    /// The listed problems. Further problems are only counted.
    package var problemsMax: Int

    package init(bytesMax: Int, depthMax: Int = 32, keysMax: Int = 4096, problemsMax: Int = 32) {
        precondition((1...(1 << 28)).contains(bytesMax), "the index counts bytes in 32 bits")
        precondition((1...64).contains(depthMax) && keysMax >= 0 && problemsMax > 0)
        self.bytesMax = bytesMax
        self.depthMax = depthMax
        self.keysMax = keysMax
        self.problemsMax = problemsMax
    }

    /// The limits of a record of a topic. The size is what the largest topic allows.
    package static let record = JSONLimits(bytesMax: 4 << 20)
}
