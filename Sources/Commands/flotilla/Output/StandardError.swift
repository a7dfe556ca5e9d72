internal import Glibc

/// The output for messages that are not results. A program may read the results from standard output.
enum StandardError {
    static func printLine(_ text: String) { print(text + "\n") }

    /// Writes the text without a line end.
    static func print(_ text: String) {
        let bytes = Array(text.utf8)
        var unwritten = bytes[...]
        while !unwritten.isEmpty {
            let writtenCount = unsafe unwritten.withUnsafeBytes {
                unsafe write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            // Standard error is closed, so no one can read the message.
            if writtenCount <= 0 { return }
            unwritten = unwritten.dropFirst(writtenCount)
        }
    }
}
