//! The shapes of tokens that services publish, or that scanners of public repositories agree on.

use super::SecretScreen;
use super::chars::Alphabet::{Alnum, Base64, Bearer, Dashed, Digits, Hex, Lower, Upper, Url64};
use super::token::{Part, Token};

/// An API key of these parts.
const fn key(parts: &'static [Part]) -> Token {
    Token { kind: SecretScreen::API_KEY, parts, digits: 0 }
}

/// An API key of these parts that has some digits.
const fn key_with_digits(digits: usize, parts: &'static [Part]) -> Token {
    Token { kind: SecretScreen::API_KEY, parts, digits }
}

/// A private key of these parts.
const fn private(parts: &'static [Part]) -> Token {
    Token { kind: SecretScreen::PRIVATE_KEY, parts, digits: 0 }
}

/// Every shape, by the name of the service.
pub(super) const TABLE: &[Token] = &[
    // age
    private(&[("AGE-SECRET-KEY-1", Upper, 58..=58)]),
    // Airtable
    key(&[("pat", Alnum, 14..=14), (".", Hex, 64..=64)]),
    // Alibaba Cloud
    key_with_digits(1, &[("LTAI", Alnum, 12..=20)]),
    // Amazon Web Services: key identifiers, and keys of Bedrock. The secret of a key has no shape of its own.
    key(&[("AKIA", Upper, 16..=16)]),
    key(&[("ASIA", Upper, 16..=16)]),
    key(&[("ABIA", Upper, 16..=16)]),
    key(&[("ACCA", Upper, 16..=16)]),
    key(&[("ABSK", Base64, 100..=280)]),
    // Anthropic
    key_with_digits(4, &[("sk-ant-", Url64, 32..=200)]),
    // Artifactory
    key(&[("AKCp", Alnum, 60..=80)]),
    // Atlassian, Bitbucket
    key(&[("ATATT3", Bearer, 150..=250)]),
    key(&[("ATCTT3", Bearer, 150..=250)]),
    key(&[("ATBB", Alnum, 28..=40)]),
    // Azure: secrets of an application in Entra ID, such as `abc8Q~` and more
    key_with_digits(2, &[("", Alnum, 5..=5), ("~", Bearer, 31..=34)]),
    // Bitcoin and others: extended private keys
    private(&[("xprv", Alnum, 107..=108)]),
    // Brevo
    key(&[("xkeysib-", Hex, 64..=64), ("-", Alnum, 16..=16)]),
    key(&[("xsmtpsib-", Hex, 64..=64), ("-", Alnum, 16..=16)]),
    // Contentful
    key(&[("CFPAT-", Url64, 43..=43)]),
    // Cargo (crates.io)
    key(&[("cio", Alnum, 32..=32)]),
    // Databricks
    key(&[("dapi", Hex, 32..=32)]),
    key(&[("dapi", Hex, 32..=32), ("-", Digits, 1..=1)]),
    // DigitalOcean
    key(&[("dop_v1_", Hex, 64..=64)]),
    key(&[("doo_v1_", Hex, 64..=64)]),
    key(&[("dor_v1_", Hex, 64..=64)]),
    // Discord: tokens of bots begin with a user's number in base64; webhooks
    key(&[("M", Url64, 23..=27), (".", Url64, 6..=6), (".", Url64, 27..=40)]),
    key(&[("N", Url64, 23..=27), (".", Url64, 6..=6), (".", Url64, 27..=40)]),
    key(&[("O", Url64, 23..=27), (".", Url64, 6..=6), (".", Url64, 27..=40)]),
    key(&[("discord.com/api/webhooks/", Digits, 17..=20), ("/", Url64, 60..=80)]),
    key(&[("discordapp.com/api/webhooks/", Digits, 17..=20), ("/", Url64, 60..=80)]),
    // Docker Hub
    key(&[("dckr_pat_", Url64, 27..=40)]),
    key(&[("dckr_oat_", Url64, 27..=40)]),
    // Doppler
    key(&[("dp.pt.", Alnum, 40..=44)]),
    key(&[("dp.st.", Url64, 1..=35), (".", Alnum, 40..=44)]),
    // Dropbox
    key(&[("sl.", Url64, 130..=300)]),
    // Dynatrace
    key(&[("dt0c01.", Upper, 24..=24), (".", Upper, 64..=64)]),
    // EasyPost
    key(&[("EZAK", Alnum, 54..=54)]),
    key(&[("EZTK", Alnum, 54..=54)]),
    // Facebook
    key_with_digits(1, &[("EAAC", Alnum, 100..=300)]),
    key_with_digits(1, &[("EAAM", Alnum, 100..=300)]),
    // Figma
    key(&[("figd_", Url64, 38..=50)]),
    // Fly.io
    key(&[("fo1_", Url64, 43..=43)]),
    // GitHub: personal, OAuth, user, server and refresh tokens; fine-grained tokens
    key(&[("ghp_", Alnum, 36..=255)]),
    key(&[("gho_", Alnum, 36..=255)]),
    key(&[("ghu_", Alnum, 36..=255)]),
    key(&[("ghs_", Alnum, 36..=255)]),
    key(&[("ghr_", Alnum, 36..=255)]),
    key(&[("github_pat_", Alnum, 22..=22), ("_", Alnum, 59..=59)]),
    // GitLab
    key(&[("glpat-", Url64, 20..=300)]),
    key(&[("glpat-", Url64, 27..=300), (".", Lower, 9..=9)]),
    key(&[("glpat-", Url64, 27..=300), (".", Lower, 2..=2), (".", Lower, 9..=9)]),
    key(&[("glptt-", Hex, 40..=40)]),
    key(&[("gldt-", Url64, 20..=64)]),
    key(&[("glrt-", Url64, 20..=300)]),
    key(&[("glrt-", Url64, 27..=300), (".", Lower, 9..=9)]),
    key(&[("glcbt-", Alnum, 1..=5), ("_", Url64, 20..=64)]),
    key(&[("glsoat-", Url64, 20..=64)]),
    key(&[("glimt-", Url64, 25..=64)]),
    key(&[("glft-", Url64, 20..=64)]),
    key(&[("glffct-", Url64, 20..=64)]),
    key(&[("glagent-", Url64, 50..=64)]),
    key(&[("gloas-", Url64, 64..=64)]),
    key(&[("GR1348941", Url64, 20..=20)]),
    // Google: API keys, secrets of OAuth clients, OAuth tokens
    key(&[("AIza", Url64, 35..=35)]),
    key(&[("GOCSPX-", Url64, 28..=28)]),
    key(&[("ya29.", Bearer, 40..=500)]),
    key(&[("1//0", Url64, 40..=200)]),
    // Grafana
    key(&[("glsa_", Alnum, 32..=32), ("_", Hex, 8..=8)]),
    key(&[("glc_", Base64, 50..=400)]),
    // Groq
    key(&[("gsk_", Alnum, 48..=56)]),
    // HashiCorp: Vault, Terraform Cloud
    key(&[("hvs.", Url64, 24..=300)]),
    key(&[("hvb.", Url64, 100..=300)]),
    key(&[("", Alnum, 14..=14), (".atlasv1.", Url64, 60..=70)]),
    // Heroku
    key(&[("HRKU-AA", Url64, 58..=58)]),
    // Hugging Face
    key(&[("hf_", Alnum, 34..=40)]),
    key(&[("api_org_", Alnum, 34..=34)]),
    // JSON Web Tokens
    key(&[("eyJ", Url64, 10..=500), (".eyJ", Url64, 10..=4_000), (".", Url64, 20..=1_000)]),
    // Linear
    key(&[("lin_api_", Alnum, 40..=40)]),
    key(&[("lin_oauth_", Hex, 64..=64)]),
    // Mailchimp
    key(&[("", Hex, 32..=32), ("-us", Digits, 1..=2)]),
    // Mailgun
    key_with_digits(4, &[("key-", Lower, 32..=32)]),
    // Mem0
    key_with_digits(2, &[("m0-", Alnum, 32..=64)]),
    // New Relic
    key(&[("NRAK-", Upper, 27..=27)]),
    key(&[("NRII-", Url64, 32..=32)]),
    // Netlify
    key(&[("nfp_", Alnum, 36..=40)]),
    // nostr
    private(&[("nsec1", Lower, 58..=58)]),
    // Notion
    key(&[("ntn_", Alnum, 44..=50)]),
    key(&[("secret_", Alnum, 43..=43)]),
    // npm
    key(&[("npm_", Alnum, 36..=36)]),
    // NuGet
    key_with_digits(3, &[("oy2", Lower, 43..=43)]),
    // OpenAI, and services whose keys look alike
    key_with_digits(3, &[("sk-", Url64, 32..=200)]),
    // Perplexity
    key(&[("pplx-", Alnum, 40..=56)]),
    // PlanetScale
    key(&[("pscale_tkn_", Bearer, 32..=64)]),
    key(&[("pscale_pw_", Bearer, 32..=64)]),
    key(&[("pscale_oauth_", Bearer, 32..=64)]),
    // Postman
    key(&[("PMAK-", Hex, 24..=24), ("-", Hex, 34..=34)]),
    // Prefect
    key(&[("pnu_", Alnum, 36..=36)]),
    // Pulumi
    key(&[("pul-", Hex, 40..=40)]),
    // PyPI
    key(&[("pypi-Ag", Url64, 50..=500)]),
    // Replicate
    key_with_digits(2, &[("r8_", Alnum, 37..=40)]),
    // RubyGems
    key(&[("rubygems_", Hex, 48..=48)]),
    // SendGrid
    key(&[("SG.", Url64, 20..=24), (".", Url64, 39..=50)]),
    // Sentry
    key(&[("sntrys_", Bearer, 60..=400)]),
    key(&[("sntryu_", Hex, 64..=64)]),
    // Shippo
    key(&[("shippo_live_", Hex, 40..=40)]),
    key(&[("shippo_test_", Hex, 40..=40)]),
    // Shopify
    key(&[("shpat_", Hex, 32..=32)]),
    key(&[("shpca_", Hex, 32..=32)]),
    key(&[("shppa_", Hex, 32..=32)]),
    key(&[("shpss_", Hex, 32..=32)]),
    // Slack: tokens of bots, users, apps, configurations; webhooks
    key_with_digits(6, &[("xoxb-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxp-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxa-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxo-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxr-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxs-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxe-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxe.xoxb-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xoxe.xoxp-", Dashed, 20..=300)]),
    key_with_digits(6, &[("xapp-", Dashed, 20..=300)]),
    key(&[
        ("hooks.slack.com/services/T", Upper, 8..=12),
        ("/B", Upper, 8..=12),
        ("/", Alnum, 20..=32),
    ]),
    // Sourcegraph
    key(&[("sgp_", Hex, 40..=40)]),
    // Square
    key(&[("sq0atp-", Url64, 22..=22)]),
    key(&[("sq0csp-", Url64, 43..=43)]),
    // Stripe
    key(&[("sk_live_", Alnum, 16..=255)]),
    key(&[("sk_test_", Alnum, 16..=255)]),
    key(&[("rk_live_", Alnum, 16..=255)]),
    key(&[("rk_test_", Alnum, 16..=255)]),
    key(&[("whsec_", Base64, 24..=64)]),
    // Supabase
    key(&[("sbp_", Hex, 40..=40)]),
    key(&[("sb_secret_", Url64, 28..=48)]),
    // Telegram
    key_with_digits(8, &[("", Digits, 6..=10), (":", Url64, 34..=36)]),
    // Twilio: API keys
    key(&[("SK", Hex, 32..=32)]),
    // Typeform
    key(&[("tfp_", Url64, 40..=64)]),
    // xAI
    key(&[("xai-", Alnum, 70..=90)]),
];
