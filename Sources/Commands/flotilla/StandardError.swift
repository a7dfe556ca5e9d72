internal import Glibc

/// The output for messages that are not results. A program may read the results from standard output.
enum StandardError {
    static func printLine(_ text: String) {
        let line = Array((text + "\n").utf8)
        var rest = line[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes {
                unsafe write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            // Standard error is closed, so no one can read the message.
            if written <= 0 { return }
            rest = rest.dropFirst(written)
        }
    }
}
