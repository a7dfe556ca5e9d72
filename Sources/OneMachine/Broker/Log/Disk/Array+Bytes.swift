extension [UInt8] {
    /// Calls `withUnsafeBytes` and keeps the type of the thrown error.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBufferPointer { (buffer) throws(Failure) in
            try unsafe body(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Calls `withUnsafeMutableBytes` and keeps the type of the thrown error.
    mutating func withMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try unsafe body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
