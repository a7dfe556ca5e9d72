internal import CLinux
internal import Glibc

/// A failed call to the operating system: the action, the system's reason, and the remedy if one is known.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The `errno`, for callers that distinguish causes.
    package let code: Int32
    package let description: String

    /// Makes the description "cannot listen on host:443: address already in use; stop the process that holds
    /// it …" of the action "listen on host:443". Without a `remedy` it has a general one, if there is one for
    /// the code.
    package init(action: String, code: Int32, remedy: String? = nil) {
        self.code = code
        let cause = SystemError.text(for: code)
        let advice = remedy ?? SystemError.remedy(for: code)
        description = "cannot \(action): \(cause)" + (advice.map { "; \($0)" } ?? "")
    }

    /// Returns the system's text for this error, in lower case.
    package static func text(for code: Int32) -> String {
        guard let text = unsafe linux_error_words(code) else { return "system error \(code)" }
        let words = unsafe String(cString: text)
        return words.prefix(1).lowercased() + words.dropFirst()
    }

    private static func remedy(for code: Int32) -> String? {
        switch code {
        case EMFILE: "raise the process's limit of open files (LimitNOFILE, ulimit -n)"
        case ENFILE: "raise the system's limit of open files (fs.file-max)"
        case EADDRINUSE: "stop the process that holds it or choose another port"
        case EADDRNOTAVAIL: "name an address of this machine"
        default: nil
        }
    }
}
