/// What a document may be at most. Beyond a limit it is refused as a whole, with the limit's name.
package struct JSONLimits: Sendable {
    /// Bytes of the document; larger ones are refused before they are looked at.
    package var bytesMax: Int
    /// Arrays and objects inside one another.
    package var depthMax: Int
    /// Member names in the whole document.
    package var keysMax: Int
    /// Problems reported for one document; later ones are only counted.
    package var problemsMax: Int

    package init(bytesMax: Int, depthMax: Int = 32, keysMax: Int = 4096, problemsMax: Int = 32) {
        precondition((1...(1 << 28)).contains(bytesMax), "the index counts bytes in 32 bits")
        precondition((1...64).contains(depthMax) && keysMax >= 0 && problemsMax > 0)
        self.bytesMax = bytesMax
        self.depthMax = depthMax
        self.keysMax = keysMax
        self.problemsMax = problemsMax
    }

    /// A record of a topic: as large as the largest topic allows.
    package static let record = JSONLimits(bytesMax: 4 << 20)
}
