/// The output of a decompressor, in memory that grows up to a limit.
package enum GrowingOutput {
    /// The result of one call of a decompressor.
    package enum StepResult {
        /// The call wrote this many bytes, and more can follow.
        case more(Int)
        /// The call wrote this many bytes, and the stream is at its end.
        case done(Int)
        case failed
    }

    private static let sizeMin = 4096
    /// A stream that neither ends nor gives bytes in this number of calls counts as failed.
    private static let idleStepsMax = 4

    /// Calls `step` with free space until it is done. Returns nil if a step failed, or if the output has
    /// more than `bytesMax` bytes. `expectedBytes` is the first size of the memory.
    ///
    /// The memory grows to one byte more than `bytesMax`, because a stream may need free space to reach its end.
    package static func fill(
        expecting expectedBytes: Int, max bytesMax: Int, step: (UnsafeMutableRawBufferPointer) -> StepResult
    ) -> [UInt8]? {
        let sizeMax = bytesMax + 1
        let firstSize = min(max(expectedBytes, sizeMin), sizeMax)
        var output = [UInt8](repeating: 0, count: firstSize)
        var filled = 0
        var idleSteps = 0
        while true {
            if filled == output.count {
                guard output.count < sizeMax else { return nil }
                let addedBytes = min(output.count, sizeMax - output.count)
                output.append(contentsOf: repeatElement(0, count: addedBytes))
            }
            let result = unsafe output.withUnsafeMutableBytes { bytes in
                unsafe step(UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
            }
            switch result {
            case .more(let written):
                idleSteps = written == 0 ? idleSteps + 1 : 0
                guard idleSteps < idleStepsMax else { return nil }
                filled += written
            case .done(let written):
                filled += written
                guard filled <= bytesMax else { return nil }
                output.removeLast(output.count - filled)
                return output
            case .failed:
                return nil
            }
        }
    }
}
