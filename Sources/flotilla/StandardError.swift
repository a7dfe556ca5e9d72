internal import Glibc

/// Where what is said beside the results goes: those may be a program's.
enum StandardError {
    static func tell(_ text: String) {
        let line = Array((text + "\n").utf8)
        var rest = line[...]
        while !rest.isEmpty {
            let written = unsafe rest.withUnsafeBytes {
                unsafe write(STDERR_FILENO, $0.baseAddress, $0.count)
            }
            // Nobody is there to be told.
            if written <= 0 { return }
            rest = rest.dropFirst(written)
        }
    }
}
