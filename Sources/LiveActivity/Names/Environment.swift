/// Which of Apple's two worlds a token belongs to; they share nothing.
@usableFromInline package enum Environment: String, Sendable, CaseIterable {
    case production
    case sandbox
}
