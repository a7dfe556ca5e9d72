/// The output of a decompressor, which grows up to a limit.
enum GrowingOutput {
    enum StepResult {
        /// The step wrote this many bytes and has more.
        case more(Int)
        case done(Int)
        case failed
    }

    /// Calls `step` with free space until it is done. Returns nil if it failed or needed more than `max`.
    static func fill(
        expecting: Int, max: Int, step: (UnsafeMutableRawBufferPointer) -> StepResult
    ) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: Swift.min(Swift.max(expecting, 4096), max))
        var used = 0
        var idle = 0
        while true {
            if used == out.count {
                guard out.count < max else { return nil }
                out.append(contentsOf: repeatElement(0, count: Swift.min(out.count, max - out.count)))
            }
            let result = unsafe out.withMutableBytes { raw in
                unsafe step(UnsafeMutableRawBufferPointer(rebasing: raw[used...]))
            }
            switch result {
            case .more(let written):
                // A stream that neither ends nor gives bytes counts as failed.
                idle = written == 0 ? idle + 1 : 0
                guard idle < 4 else { return nil }
                used += written
            case .done(let written):
                used += written
                out.removeLast(out.count - used)
                return out
            case .failed:
                return nil
            }
        }
    }
}
